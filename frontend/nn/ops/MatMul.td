// Matrix products: library calls. Operands have one type; sums are formed in float32 (float64) and
// rounded once.
#ifndef SHARDC_FRONTEND_NN_OPS_MATMUL_TD
#define SHARDC_FRONTEND_NN_OPS_MATMUL_TD
include "frontend/nn/NN.td"

def NN_MatMulOp : NN_ComputeOp<"matmul",
    [NN_IsProduct, NN_HasGradient, NN_WideResult, NN_HasLibraryCall]> {
  let summary =
    "batched product over the last two dims; equal leading dims; an operand may be read transposed";
  let description = [{
    ONNX MatMul of operands that are broadcast already: result[..., m, n] = sum_k lhs[..., m, k]
    rhs[..., k, n]; with `transpose_lhs` lhs is stored [..., k, m], with `transpose_rhs` rhs is
    [..., n, k]. Both have one rank of at least 2, equal leading dims and one float type. The result
    may be float32 where the operands have 16 bits: then it is not rounded. All else is refused. The
    gradients are products of the same kind.

    ```mlir
    %scores = nn.matmul %q, %k {transpose_rhs}
        : (tensor<4x8x128x16xf32>, tensor<4x8x128x16xf32>) -> tensor<4x8x128x128xf32>
    ```
  }];
  let arguments = (ins NN_Float:$lhs, NN_Float:$rhs, UnitAttr:$transpose_lhs,
    UnitAttr:$transpose_rhs);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_LinearOp : NN_ComputeOp<"linear",
    [NN_IsProduct, NN_HasGradient, NN_HasLibraryCall, AttrSizedOperandSegments]> {
  let summary = "x[..., in] times a weight, plus bias, plus residual";
  let description = [{
    torch.nn.Linear, ONNX Gemm: result[..., o] = sum_i input[..., i] * W(o, i) + bias[o]. The weight
    is [in, out]; with `transpose_weight` it is [out, in], as torch.nn.Linear keeps it. The input
    has one dim or more, bias is [out], and all have one float type; all else is refused. A
    residual, of the result's type, is added before the sum is rounded: `step-fuse-products` makes
    it of an `nn.add`. The gradients are a linear by the weight read the other way,
    `nn.linear_weight_grad`, a sum over rows, and for the residual the result's own.

    ```mlir
    %y = nn.linear %x, %w, %b {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<4x128x256xf32>
    %z = nn.linear %y, %v residual %x {transpose_weight}
        : (tensor<4x128x256xf32>, tensor<64x256xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$weight, Optional<NN_Float>:$bias,
    Optional<NN_Float>:$residual, UnitAttr:$transpose_weight);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$input `,` $weight (`,` $bias^)? (`residual` $residual^)? attr-dict `:`
    functional-type(operands, $result)}];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
    "::mlir::Value":$weight, "::mlir::Value":$bias, "bool":$transpose_weight), [{
      build($_builder, $_state, result, input, weight, bias, /*residual=*/::mlir::Value(),
            transpose_weight);
    }]>];
  let hasVerifier = 1;
}
def NN_LinearWeightGradOp : NN_ComputeOp<"linear_weight_grad", [NN_WideResult, NN_HasLibraryCall]> {
  let summary = "gradient of linear's weight: input^T * gradient over all rows; "
    "transposed with `transpose_weight`";
  let description = [{
    input [..., in] and gradient [..., out], of linear's result, have equal leading dims and one
    float type. The result is [in, out]; with `transpose_weight` it is [out, in]. It may be float32
    where the operands have 16 bits: then it is not rounded. bias_gradient, of the result's element
    type, is the sum of the gradient over all rows, [out]: `step-fuse-products` makes it of an
    `nn.reduce_sum`. All else is refused.

    ```mlir
    %dw = nn.linear_weight_grad %x, %dy {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<4x128x256xf32>) -> tensor<256x64xf32>
    %dv, %db = nn.linear_weight_grad %x, %dy
        : (tensor<4x128x64xf32>, tensor<4x128x256xf32>) -> (tensor<64x256xf32>, tensor<256xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$gradient, UnitAttr:$transpose_weight);
  let results = (outs NN_Float:$result, Optional<NN_Float>:$bias_gradient);
  let assemblyFormat =
    "$input `,` $gradient attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
    "::mlir::Value":$gradient, "bool":$transpose_weight), [{
      build($_builder, $_state, result, /*bias_gradient=*/::mlir::Type(), input, gradient,
            transpose_weight);
    }]>];
  let hasVerifier = 1;
}

def NN_StackedLinearOp : NN_ComputeOp<"stacked_linear",
    [NN_IsProduct, NN_HasGradient, NN_HasLibraryCall, AttrSizedOperandSegments]> {
  let summary = "linear by the matrix whose rows are those of all weights";
  let description = [{
    The weights [n0, k], [n1, k], ..., one or more, are one matrix W of their rows, n in all. With
    `transpose_weight` result = input W^T + bias, from [..., k] to [..., n], and biases are none or
    one [ni] for each weight; without it result = input W, from [..., n] to [..., k], and there are
    no biases. All floats have one type; all else is refused. Where the weights lie one behind the
    other in memory, W is there. The gradients are the same op the other way, and
    `nn.stacked_linear_weight_grad`.

    ```mlir
    %y = nn.stacked_linear %x weights(%q, %k) {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<64x64xf32>, tensor<16x64xf32>) -> tensor<4x128x80xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, Variadic<NN_Float>:$weights, Variadic<NN_Float>:$biases,
    UnitAttr:$transpose_weight);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$input `weights` `(` $weights `)` (`biases` `(` $biases^ `)`)? attr-dict
    `:` functional-type(operands, $result)}];
  let hasVerifier = 1;
}
def NN_StackedLinearWeightGradOp : NN_ComputeOp<"stacked_linear_weight_grad",
    [NN_WideResult, NN_HasLibraryCall]> {
  let summary = "gradients of stacked_linear's weights, and of its biases";
  let description = [{
    rows [..., n] and columns [..., k], with equal leading dims and one float type: the gradient of
    the result and the input where the weights are transposed, else the other way round. rows^T *
    columns, [n, k], falls into the results [n0, k], [n1, k], ...; with `biases` half of the results
    are those, and behind them stand [n0], [n1], ..., the sums of rows. Results have one element
    type, that of the operands or, where that has 16 bits, float32: then they are not rounded. All
    else is refused.

    ```mlir
    %dq, %dk = nn.stacked_linear_weight_grad %dy, %x
        : (tensor<4x128x80xf32>, tensor<4x128x64xf32>) -> (tensor<64x64xf32>, tensor<16x64xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$rows, NN_Float:$columns, UnitAttr:$biases);
  let results = (outs Variadic<NN_Float>:$gradients);
  let assemblyFormat = "$rows `,` $columns attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ResultRange getWeightGradients() {
      return getGradients().take_front(getNumResults() / (getBiases() ? 2 : 1));
    }
    ::mlir::ResultRange getBiasGradients() {
      return getGradients().drop_front(getWeightGradients().size());
    }
  }];
}

#endif
