// Softmax and the norms, over the last dim. Operands and results may have different float types.
#ifndef SHARDC_FRONTEND_NN_OPS_NORMALIZATION_TD
#define SHARDC_FRONTEND_NN_OPS_NORMALIZATION_TD
include "frontend/nn/NN.td"

def NN_SoftmaxOp : NN_ComputeOp<"softmax",
    [NN_IsSoftmax, SameOperandsAndResultShape, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "softmax over the last dim (transpose first for another)";
  let description = [{
    ONNX Softmax: e^(x - max) / sum(e^(x - max)); a row of -inf, or with an inf or NaN, becomes NaN.
    Input and result have one shape, of one dim or more, and float types that may differ; all else
    is refused. The gradient is `nn.softmax_grad`.

    ```mlir
    %y = nn.softmax %x : tensor<4x8x128x128xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input attr-dict `:` custom<SameTypes>(type($input), type($result))";
  let hasVerifier = 1;
}
def NN_SoftmaxGradOp : NN_ComputeOp<"softmax_grad",
    [SameOperandsAndResultShape, NN_MixedTypes, NN_HasKernel]> {
  let summary = "y * (dy - sum(y * dy)) over the last dim; y is softmax's result";
  let description = [{
    y (`output`), dy (`gradient`) and the result have one shape, of one dim or more, and float types
    that may differ; all else is refused.

    ```mlir
    %dx = nn.softmax_grad %y, %dy : tensor<4x8x128x128xf32>
    ```
  }];
  let arguments = (ins NN_Float:$output, NN_Float:$gradient);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$output `,` $gradient attr-dict `:`
    custom<SameTypes>(type($output), type($gradient), type($result))}];
  let hasVerifier = 1;
}
def NN_LogSoftmaxOp : NN_ComputeOp<"log_softmax",
    [NN_IsSoftmax, SameOperandsAndResultShape, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "log(softmax(x)) over the last dim";
  let description = [{
    ONNX LogSoftmax, as (x - max) - log(sum(e^(x - max))): finite where the softmax would be 0.
    Input and result have one shape, of one dim or more, and float types that may differ; all else
    is refused. The gradient is dy - e^y sum(dy).

    ```mlir
    %y = nn.log_softmax %x : tensor<4x128x512xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input attr-dict `:` custom<SameTypes>(type($input), type($result))";
  let hasVerifier = 1;
}
def NN_LayerNormOp : NN_ComputeOp<"layer_norm",
    [NN_IsNorm, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "(x - mean) * rstd * gamma + beta over the last dim; mean and rstd [..., 1] are "
    "kept for the gradient";
  let description = [{
    torch.nn.LayerNorm over one dim, ONNX LayerNormalization: rstd = 1 / sqrt(var + epsilon), var
    biased. input [..., n], gamma and beta [n], result [..., n] of float types that may differ; mean
    and rstd [..., 1] of the input's type, or float32 where that has 16 bits. All else is refused.
    The gradients are `nn.layer_norm_grad` and `nn.layer_norm_param_grad`; one of mean or rstd is an
    error of `nn-differentiate`. Ba, Kiros and Hinton, arXiv:1607.06450.

    ```mlir
    %y, %mean, %rstd = nn.layer_norm %x, %gamma, %beta {epsilon = 1.0e-05 : f64}
        : (tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$gamma, Optional<NN_Float>:$beta,
    F64Attr:$epsilon);
  let results = (outs NN_Float:$result, NN_Float:$mean, NN_Float:$rstd);
  let assemblyFormat =
    "$input `,` $gamma (`,` $beta^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_LayerNormGradOp : NN_ComputeOp<"layer_norm_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradient of layer_norm's input";
  let description = [{
    With g = dy gamma and xhat = (x - mean) rstd, rstd (g - mean(g) - xhat mean(g xhat)), means over
    the last dim. gradient, input and result [..., n] and gamma [n] of float types that may differ;
    mean and rstd are layer_norm's. All else is refused.

    ```mlir
    %dx = nn.layer_norm_grad %dy, %x, %gamma, %mean, %rstd
        : (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<64xf32>, tensor<4x128x1xf32>,
           tensor<4x128x1xf32>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$gamma, NN_Float:$mean,
    NN_Float:$rstd);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$gradient `,` $input `,` $gamma `,` $mean `,` $rstd attr-dict `:`
    functional-type(operands, $result)}];
  let hasVerifier = 1;
}
def NN_LayerNormParamGradOp : NN_ComputeOp<"layer_norm_param_grad",
    [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradients of gamma and beta: sums over all rows of dy * xhat and of dy";
  let description = [{
    xhat = (x - mean) rstd. gradient and input [..., n] and the results [n] of float types that may
    differ; mean and rstd are layer_norm's. All else is refused. Rows are added in one fixed order.

    ```mlir
    %dgamma, %dbeta = nn.layer_norm_param_grad %dy, %x, %mean, %rstd
        : (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
        -> (tensor<64xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$mean, NN_Float:$rstd);
  let results = (outs NN_Float:$gamma_gradient, NN_Float:$beta_gradient);
  let assemblyFormat = [{$gradient `,` $input `,` $mean `,` $rstd attr-dict `:`
    functional-type(operands, results)}];
  let hasVerifier = 1;
}
def NN_RmsNormOp : NN_ComputeOp<"rms_norm",
    [NN_IsNorm, NN_MixedTypes, NN_HasGradient, NN_HasKernel]> {
  let summary = "x * rstd * gamma over the last dim, rstd = 1 / sqrt(mean(x^2) + epsilon) [..., 1] "
    "kept for the gradient";
  let description = [{
    torch.nn.RMSNorm over one dim, ONNX RMSNormalization. input and result [..., n] and gamma [n] of
    float types that may differ; rstd [..., 1] of the input's type, or float32 where that has 16
    bits. All else is refused. The gradients are `nn.rms_norm_grad` and `nn.rms_norm_param_grad`;
    one of rstd is an error of `nn-differentiate`. Zhang and Sennrich, arXiv:1910.07467.

    ```mlir
    %y, %rstd = nn.rms_norm %x, %gamma {epsilon = 1.0e-05 : f64}
        : (tensor<4x128x64xf32>, tensor<64xf32>) -> (tensor<4x128x64xf32>, tensor<4x128x1xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$gamma, F64Attr:$epsilon);
  let results = (outs NN_Float:$result, NN_Float:$rstd);
  let assemblyFormat = "$input `,` $gamma attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_RmsNormGradOp : NN_ComputeOp<"rms_norm_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradient of rms_norm's input";
  let description = [{
    With g = dy gamma and xhat = x rstd, rstd (g - xhat mean(g xhat)), means over the last dim.
    gradient, input and result [..., n] and gamma [n] of float types that may differ; rstd is
    rms_norm's. All else is refused.

    ```mlir
    %dx = nn.rms_norm_grad %dy, %x, %gamma, %rstd
        : (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<64xf32>, tensor<4x128x1xf32>)
        -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$gamma, NN_Float:$rstd);
  let results = (outs NN_Float:$result);
  let assemblyFormat = [{$gradient `,` $input `,` $gamma `,` $rstd attr-dict `:`
    functional-type(operands, $result)}];
  let hasVerifier = 1;
}
def NN_RmsNormParamGradOp : NN_ComputeOp<"rms_norm_param_grad", [NN_MixedTypes, NN_HasKernel]> {
  let summary = "gradient of gamma: sum over all rows of dy * x * rstd";
  let description = [{
    gradient and input [..., n] and the result [n] of float types that may differ; rstd is
    rms_norm's. All else is refused. Rows are added in one fixed order.

    ```mlir
    %dgamma = nn.rms_norm_param_grad %dy, %x, %rstd
        : (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x128x1xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$rstd);
  let results = (outs NN_Float:$gamma_gradient);
  let assemblyFormat =
    "$gradient `,` $input `,` $rstd attr-dict `:` functional-type(operands, $gamma_gradient)";
  let hasVerifier = 1;
}

#endif
