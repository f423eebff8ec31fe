// Matrix products: library calls. Operands have one type; sums are formed in float32 (float64) and rounded once.
#ifndef SHARDC_FRONTEND_NN_OPS_MATMUL_TD
#define SHARDC_FRONTEND_NN_OPS_MATMUL_TD
include "frontend/nn/NN.td"

def NN_MatMulOp : NN_ComputeOp<"matmul", [NN_IsProduct, NN_HasGradient, NN_WideResult]> {
  let summary = "batched product over the last two dims; equal leading dims; an operand may be read transposed";
  let description = "The result may be float32 where the operands have 16 bits: then it is not rounded.";
  let arguments = (ins NN_Float:$lhs, NN_Float:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_LinearOp : NN_ComputeOp<"linear", [NN_IsProduct, NN_HasGradient]> {
  let summary = "x[..., in] times a weight, plus bias";
  let description = [{
    result[..., o] = sum_i input[..., i] * W(o, i) + bias[o]. The weight is [in, out]; with `transpose_weight` it is
    [out, in], as torch.nn.Linear keeps it.
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$weight, Optional<NN_Float>:$bias, UnitAttr:$transpose_weight);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $weight (`,` $bias^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_LinearWeightGradOp : NN_ComputeOp<"linear_weight_grad", [NN_WideResult]> {
  let summary = "gradient of linear's weight: input^T * gradient over all rows; transposed with `transpose_weight`";
  let description = "The result may be float32 where the operands have 16 bits: then it is not rounded.";
  let arguments = (ins NN_Float:$input, NN_Float:$gradient, UnitAttr:$transpose_weight);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif
