// Losses. Each multiplies by `scale`, a value of the run: 1 / (valid labels of the global batch), so that the sum over
// ranks is the mean over the global batch. Scale and loss, and the gradient of the loss, have the operands' type, or are all float32
// where those have 16 bits.
#ifndef SHARDC_FRONTEND_NN_OPS_LOSS_TD
#define SHARDC_FRONTEND_NN_OPS_LOSS_TD
include "frontend/nn/NN.td"

def NN_CrossEntropyOp : NN_ComputeOp<"cross_entropy", [NN_IsLoss, NN_HasGradient]> {
  let summary = "scale * sum over valid rows of (log_sum_exp(logits) - logits[label])";
  let description = [{
    logits [..., V], labels [...]. Rows whose label is `ignore_index` do not count. With `shift` = s, the logits at
    position i of the last label dim are compared with the label at i + s; the last s positions do not count.
  }];
  let arguments = (ins NN_Float:$logits, NN_Int:$labels, NN_ScalarFloat:$scale, I64Attr:$ignore_index, I64Attr:$shift);
  let results = (outs NN_ScalarFloat:$loss);
  let assemblyFormat = "$logits `,` $labels `,` $scale attr-dict `:` functional-type(operands, $loss)";
  let hasVerifier = 1;
}
def NN_CrossEntropyGradOp : NN_ComputeOp<"cross_entropy_grad"> {
  let summary = "gradient of the logits: scale * gradient * (softmax(logits) - one_hot(label)) for valid rows, else 0";
  let arguments = (ins NN_ScalarFloat:$gradient, NN_Float:$logits, NN_Int:$labels, NN_ScalarFloat:$scale, I64Attr:$ignore_index,
    I64Attr:$shift);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$gradient `,` $logits `,` $labels `,` $scale attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_LinearCrossEntropyOp : NN_ComputeOp<"linear_cross_entropy", [NN_IsLoss, NN_HasGradient]> {
  let summary = "cross entropy of linear(input, weight), chunked over rows: the logits never exist for the whole batch";
  let description = "The logits and their gradient are not rounded to 16 bits.";
  let arguments = (ins NN_Float:$input, NN_Float:$weight, Optional<NN_Float>:$bias, NN_Int:$labels, NN_ScalarFloat:$scale,
    I64Attr:$ignore_index, I64Attr:$shift, UnitAttr:$transpose_weight);
  let results = (outs NN_ScalarFloat:$loss);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? `labels` $labels `,` $scale attr-dict `:` functional-type(operands, $loss)";
  let hasVerifier = 1;
}
def NN_LinearCrossEntropyGradOp : NN_ComputeOp<"linear_cross_entropy_grad", [AttrSizedResultSegments, NN_WideResult]> {
  let summary = "the loss and the gradients of input, weight and bias in the same pass over the rows";
  let description = [{
    Takes the place of the forward op in a training step, since `scale` is known before the forward pass: the gradient
    of the loss itself is 1. The gradients of weight and bias may be float32 where these have 16 bits: they are not rounded.
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$weight, Optional<NN_Float>:$bias, NN_Int:$labels, NN_ScalarFloat:$scale,
    I64Attr:$ignore_index, I64Attr:$shift, UnitAttr:$transpose_weight);
  let results = (outs NN_ScalarFloat:$loss, Optional<NN_Float>:$input_gradient, Optional<NN_Float>:$weight_gradient,
    Optional<NN_Float>:$bias_gradient);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? `labels` $labels `,` $scale attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
