// Softmax and the norms, over the last dim. Operands and results may have different float types.
#ifndef SHARDC_FRONTEND_NN_OPS_NORMALIZATION_TD
#define SHARDC_FRONTEND_NN_OPS_NORMALIZATION_TD
include "frontend/nn/NN.td"

def NN_SoftmaxOp : NN_ComputeOp<"softmax", [NN_IsSoftmax, SameOperandsAndResultShape, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "softmax over the last dim (transpose first for another)";
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input attr-dict `:` custom<SameTypes>(type($input), type($result))";
  let hasVerifier = 1;
}
def NN_SoftmaxGradOp : NN_ComputeOp<"softmax_grad", [SameOperandsAndResultShape, NN_MixedTypes, NN_HasKernel]> {
  let summary = "y * (dy - sum(y * dy)) over the last dim; y is softmax's result";
  let arguments = (ins NN_Float:$output, NN_Float:$gradient);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$output `,` $gradient attr-dict `:` custom<SameTypes>(type($output), type($gradient), type($result))";
  let hasVerifier = 1;
}
def NN_LogSoftmaxOp : NN_ComputeOp<"log_softmax", [NN_IsSoftmax, SameOperandsAndResultShape, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "log(softmax(x)) over the last dim";
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input attr-dict `:` custom<SameTypes>(type($input), type($result))";
  let hasVerifier = 1;
}
def NN_LayerNormOp : NN_ComputeOp<"layer_norm", [NN_IsNorm, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "(x - mean) * rstd * gamma + beta over the last dim; mean and rstd [..., 1] are kept for the gradient";
  let description = "rstd = 1 / sqrt(var + epsilon), var biased. Ba, Kiros and Hinton, arXiv:1607.06450.";
  let arguments = (ins NN_Float:$input, NN_Float:$gamma, Optional<NN_Float>:$beta, F64Attr:$epsilon);
  let results = (outs NN_Float:$result, NN_Float:$mean, NN_Float:$rstd);
  let assemblyFormat = "$input `,` $gamma (`,` $beta^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_LayerNormGradOp : NN_ComputeOp<"layer_norm_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradient of layer_norm's input";
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$gamma, NN_Float:$mean, NN_Float:$rstd);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$gradient `,` $input `,` $gamma `,` $mean `,` $rstd attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_LayerNormParamGradOp : NN_ComputeOp<"layer_norm_param_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradients of gamma and beta: sums over all rows of dy * xhat and of dy";
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$mean, NN_Float:$rstd);
  let results = (outs NN_Float:$gamma_gradient, NN_Float:$beta_gradient);
  let assemblyFormat = "$gradient `,` $input `,` $mean `,` $rstd attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_RmsNormOp : NN_ComputeOp<"rms_norm", [NN_IsNorm, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "x * rstd * gamma over the last dim, rstd = 1 / sqrt(mean(x^2) + epsilon) [..., 1] kept for the gradient";
  let description = "Zhang and Sennrich, arXiv:1910.07467.";
  let arguments = (ins NN_Float:$input, NN_Float:$gamma, F64Attr:$epsilon);
  let results = (outs NN_Float:$result, NN_Float:$rstd);
  let assemblyFormat = "$input `,` $gamma attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_RmsNormGradOp : NN_ComputeOp<"rms_norm_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradient of rms_norm's input";
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$gamma, NN_Float:$rstd);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$gradient `,` $input `,` $gamma `,` $rstd attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_RmsNormParamGradOp : NN_ComputeOp<"rms_norm_param_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradient of gamma: sum over all rows of dy * x * rstd";
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$rstd);
  let results = (outs NN_Float:$gamma_gradient);
  let assemblyFormat = "$gradient `,` $input `,` $rstd attr-dict `:` functional-type(operands, $gamma_gradient)";
  let hasVerifier = 1;
}

#endif
