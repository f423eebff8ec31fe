// Losses. Each multiplies by `scale`, a value of the run: 1 / (valid labels of the global batch),
// so that the sum over ranks is the mean over the global batch. Scale and loss, and the gradient of
// the loss, have the operands' type, or are all float32 where those have 16 bits.
#ifndef SHARDC_FRONTEND_NN_OPS_LOSS_TD
#define SHARDC_FRONTEND_NN_OPS_LOSS_TD
include "frontend/nn/NN.td"

def NN_CrossEntropyOp : NN_ComputeOp<"cross_entropy",
    [NN_IsLoss, NN_HasGradient, NN_HasLibraryCall, NN_ReadsPositions, NN_HasOperandTypes]> {
  let summary = "scale * sum over valid rows of (log_sum_exp(logits) - logits[label])";
  let description = [{
    torch.nn.functional.cross_entropy, ONNX SoftmaxCrossEntropyLoss. With a `smoothing` s in [0, 1]
    a row's loss is log_sum_exp(logits) - (1 - s) logits[label] - s mean(logits), torch's
    label_smoothing (arXiv:1512.00567, section 7). With class_weights w [V] of scale's type, p =
    log_softmax(logits), it is -(1 - s) w[label] p[label] - s / V sum(w p), as torch has them both.
    logits [..., V] of a float type, labels [...] of i32 or i64; scale and loss have no dims and the
    logits' type, or float32 where that has 16 bits. Rows whose label is `ignore_index` do not
    count. With `shift` = s, the logits at position i of the last label dim are compared with the
    label at i + s; the last s positions do not count. s lies in [0, size of that dim). All else is
    refused. A label that is neither `ignore_index` nor in [0, V) stops the run. The logits have a
    gradient (`nn.cross_entropy_grad`); one of scale is an error of `nn-differentiate`.

    ```mlir
    %loss = nn.cross_entropy %logits, %labels, %scale {ignore_index = -100 : i64, shift = 1 : i64}
        : (tensor<4x128x512xbf16>, tensor<4x128xi64>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins NN_Float:$logits, NN_Int:$labels, NN_ScalarFloat:$scale,
    Optional<NN_Float>:$class_weights, I64Attr:$ignore_index, I64Attr:$shift,
    DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let results = (outs NN_ScalarFloat:$loss);
  let assemblyFormat = [{$logits `,` $labels `,` $scale (`class_weights` $class_weights^)? attr-dict
    `:` functional-type(operands, $loss)}];
  let hasVerifier = 1;
}
def NN_CrossEntropyGradOp : NN_ComputeOp<"cross_entropy_grad",
    [NN_HasLibraryCall, NN_ReadsPositions]> {
  let summary = "gradient of the logits: scale * gradient * (softmax(logits) - (1 - s) "
    "one_hot(label) - s / V) for valid rows, else 0";
  let description = [{
    Logits, labels, scale, class_weights and attributes are those of `nn.cross_entropy`, by whose
    class_weights this gradient, too, is multiplied: that of a row is scale * gradient * ((1 - s)
    w[label] (p - one_hot(label)) + s / V (sum(w) p - w)), p = softmax(logits). `gradient`, of the
    loss, has no dims and scale's type, the result the logits' type. All else is refused.

    ```mlir
    %dlogits = nn.cross_entropy_grad %dloss, %logits, %labels, %scale
        {ignore_index = -100 : i64, shift = 1 : i64}
        : (tensor<f32>, tensor<4x128x512xbf16>, tensor<4x128xi64>, tensor<f32>)
        -> tensor<4x128x512xbf16>
    ```
  }];
  let arguments = (ins NN_ScalarFloat:$gradient, NN_Float:$logits, NN_Int:$labels,
    NN_ScalarFloat:$scale, Optional<NN_Float>:$class_weights, I64Attr:$ignore_index,
    I64Attr:$shift, DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$gradient `,` $logits `,` $labels `,` $scale
    (`class_weights` $class_weights^)? attr-dict `:` functional-type(operands, $result)}];
  let hasVerifier = 1;
}
def NN_LinearCrossEntropyOp : NN_ComputeOp<"linear_cross_entropy",
    [AttrSizedOperandSegments, NN_IsLoss, NN_HasGradient, NN_HasLibraryCall, NN_ReadsPositions,
     NN_HasOperandTypes]> {
  let summary = "cross entropy of linear(input, weight), chunked over rows: the logits never exist "
    "for the whole batch";
  let description = [{
    input [..., in], weight [in, V] ([V, in] with `transpose_weight`) and bias [V] have one float
    type, labels [...] are i32 or i64; scale, loss, class_weights, `ignore_index`, `shift` and
    `smoothing` are those of `nn.cross_entropy`. With a `softcap` c (not 0) a logit x is c tanh(x /
    c), as Gemma 2 has it (arXiv:2408.00118). All else is refused. The logits and their gradient are
    not rounded to 16 bits. The gradients are those of `nn.linear_cross_entropy_grad`.

    ```mlir
    %loss = nn.linear_cross_entropy %x, %w labels %labels, %scale
        {ignore_index = -100 : i64, shift = 1 : i64, transpose_weight}
        : (tensor<4x128x64xf32>, tensor<512x64xf32>, tensor<4x128xi64>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$weight, Optional<NN_Float>:$bias, NN_Int:$labels,
    NN_ScalarFloat:$scale, Optional<NN_Float>:$class_weights, I64Attr:$ignore_index,
    I64Attr:$shift, UnitAttr:$transpose_weight, DefaultValuedAttr<F64Attr, "0.0">:$softcap,
    DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let results = (outs NN_ScalarFloat:$loss);
  let assemblyFormat = [{$input `,` $weight (`bias` $bias^)? `labels` $labels `,` $scale
    (`class_weights` $class_weights^)? attr-dict `:` functional-type(operands, $loss)}];
  let hasVerifier = 1;
}
def NN_LinearCrossEntropyGradOp : NN_ComputeOp<"linear_cross_entropy_grad",
    [AttrSizedOperandSegments, AttrSizedResultSegments, NN_WideResult, NN_HasLibraryCall,
     NN_ReadsPositions]> {
  let summary =
    "the loss and the gradients of input, weight and bias in the same pass over the rows";
  let description = [{
    Takes the place of `nn.linear_cross_entropy` in a training step, since `scale` is known before
    the forward pass: the gradient of the loss itself is 1. Operands and attributes are that op's.
    `resultSegmentSizes` says which of the gradients are made; each has the type of its operand, but
    those of weight and bias may be float32 where these have 16 bits: they are not rounded. All else
    is refused, and so is a bias_gradient where there is no bias.

    ```mlir
    %loss, %dx, %dw = nn.linear_cross_entropy_grad %x, %w labels %labels, %scale
        {ignore_index = -100 : i64, resultSegmentSizes = array<i32: 1, 1, 1, 0>, shift = 1 : i64,
         transpose_weight}
        : (tensor<4x128x64xf32>, tensor<512x64xf32>, tensor<4x128xi64>, tensor<f32>)
        -> (tensor<f32>, tensor<4x128x64xf32>, tensor<512x64xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$weight, Optional<NN_Float>:$bias, NN_Int:$labels,
    NN_ScalarFloat:$scale, Optional<NN_Float>:$class_weights, I64Attr:$ignore_index,
    I64Attr:$shift, UnitAttr:$transpose_weight, DefaultValuedAttr<F64Attr, "0.0">:$softcap,
    DefaultValuedAttr<F64Attr, "0.0">:$smoothing);
  let results = (outs NN_ScalarFloat:$loss, Optional<NN_Float>:$input_gradient,
    Optional<NN_Float>:$weight_gradient, Optional<NN_Float>:$bias_gradient);
  let assemblyFormat = [{$input `,` $weight (`bias` $bias^)? `labels` $labels `,` $scale
    (`class_weights` $class_weights^)? attr-dict `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}

#endif
