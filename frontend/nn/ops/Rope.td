// Rotary positions. Layout: [batch, sequence, heads, head_dim].
#ifndef SHARDC_FRONTEND_NN_OPS_ROPE_TD
#define SHARDC_FRONTEND_NN_OPS_ROPE_TD
include "frontend/nn/NN.td"

def NN_RopeOp : NN_ComputeOp<"rope", [NN_HasGradient, NN_HasKernel, NN_HasOperandTypes]> {
  let summary = "rotary positions over [B, S, H, D]";
  let description = [{
    x * cos + rotate_half(x) * sin, rotate_half(x) = concat(-x[D/2:], x[:D/2]); with `interleaved`
    the pairs are (0,1), (2,3), ... input [B, S, H, D] with an even D, cos and sin [1 or B, S, D] of
    floats of any type; the result has the input's type. With `heads` (not 0) the first so many
    heads rotate, and the others stay as they are. All else is refused: where only some dims rotate,
    slice them first. With `transposed` it is the linear map's transpose, which is the gradient: dy
    * cos + rotate_half^T(dy * sin). A gradient of the angles is an error of `nn-differentiate`. Su
    et al., arXiv:2104.09864.

    ```mlir
    %y = nn.rope %x, %cos, %sin
        : (tensor<4x128x8x16xf32>, tensor<1x128x16xf32>, tensor<1x128x16xf32>)
        -> tensor<4x128x8x16xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$cos, NN_Float:$sin, UnitAttr:$interleaved,
    UnitAttr:$transposed, DefaultValuedAttr<I64Attr, "0">:$heads);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $cos `,` $sin attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Heads that rotate.
    int64_t getRotatedHeads();
  }];
}

#endif
