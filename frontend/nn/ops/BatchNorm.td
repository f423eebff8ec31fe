// Norms by the statistics of a batch. `nn-expand-batch-norms` makes other ops of them behind
// differentiation: no later pass sees one.
#ifndef SHARDC_FRONTEND_NN_OPS_BATCHNORM_TD
#define SHARDC_FRONTEND_NN_OPS_BATCHNORM_TD
include "frontend/nn/NN.td"

def NN_BatchNormOp : NN_ComputeOp<"batch_norm", [NN_IsNorm, NN_MixedTypes, NN_HasGradient]> {
  let summary =
    "(x - mean) / sqrt(variance + epsilon) * gamma + beta, by the statistics of the batch";
  let description = [{
    torch.nn.BatchNorm in train mode, ONNX BatchNormalization with training_mode = 1. input [..., n]
    has its channels last; mean and variance (biased) [n] are those of each channel over all other
    dims, of the input's type, or float32 where that has 16 bits. gamma, beta, running_mean and
    running_var are [n], of float types that may differ. All else is refused. Evaluations are by the
    running statistics; a step moves them, by momentum * running + (1 - momentum) * batch's, the
    variance `unbiased` (times rows / (rows - 1)) where PyTorch exported the model, which does so.
    Ops of one running statistic follow each other as they stand; `site` tells equal ones apart.

    The gradients are `nn.batch_norm_grad`, and of the running statistics what `nn.running_gradient`
    says; one of mean or variance is an error of `nn-differentiate`. Ioffe and Szegedy,
    arXiv:1502.03167.

    ```mlir
    %y, %mean, %variance = nn.batch_norm %x, %gamma, %beta, %running_mean, %running_var
        {epsilon = 1.0e-05 : f64, momentum = 9.0e-01 : f64, site = 0 : i64, unbiased}
        : (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$gamma, NN_Float:$beta, NN_Float:$running_mean,
    NN_Float:$running_var, F64Attr:$epsilon, F64Attr:$momentum, I64Attr:$site, UnitAttr:$unbiased);
  let results = (outs NN_Float:$result, NN_Float:$mean, NN_Float:$variance);
  let assemblyFormat = [{$input `,` $gamma `,` $beta `,` $running_mean `,` $running_var attr-dict
    `:` functional-type(operands, results)}];
  let hasVerifier = 1;
}
def NN_BatchNormGradOp : NN_ComputeOp<"batch_norm_grad", [NN_MixedTypes]> {
  let summary = "gradients of batch_norm's input, gamma and beta";
  let description = [{
    With rstd = 1 / sqrt(variance + epsilon), xhat = (x - mean) rstd, and means over all dims but
    the last: gamma rstd (dy - mean(dy) - xhat mean(dy xhat)); the sums of dy xhat and of dy.
    gradient, input and the first result [..., n], gamma and the other results [n], of float types
    that may differ; mean and variance are batch_norm's. All else is refused.

    ```mlir
    %dx, %dgamma, %dbeta = nn.batch_norm_grad %dy, %x, %gamma, %mean, %variance
        {epsilon = 1.0e-05 : f64}
        : (tensor<512x64xf32>, tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<512x64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Float:$input, NN_Float:$gamma, NN_Float:$mean,
    NN_Float:$variance, F64Attr:$epsilon);
  let results = (outs NN_Float:$result, NN_Float:$gamma_gradient, NN_Float:$beta_gradient);
  let assemblyFormat = [{$gradient `,` $input `,` $gamma `,` $mean `,` $variance attr-dict `:`
    functional-type(operands, results)}];
  let hasVerifier = 1;
}
def NN_RunningGradientOp : NN_Op<"running_gradient", [NN_MixedTypes]> {
  let summary =
    "what a running statistic loses in a micro-batch: weight * (running - factor * batch's)";
  let description = [{
    The statistic's own optimizer, `running`, takes these sums over ranks and micro-batches away
    from it. A run gives the weight, so that the sum is what torch has after as many forward passes,
    averaged over ranks: with m = momentum, C calls of the statistic in a micro-batch of which this
    is number c, and micro-batch i of k of each of R ranks,
    (1 - m) m^((k - 1 - i) C + C - 1 - c) / R. `rows` is what the batch's statistic was made of, of
    an unbiased variance: its factor is rows / (rows - 1); 0 for none. All operands and the result
    are [n], of float types that may differ; all else is refused.

    ```mlir
    %d = nn.running_gradient %running, %variance {momentum = 9.0e-01 : f64, rows = 512 : i64,
        site = 0 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$running, NN_Float:$statistic, F64Attr:$momentum, I64Attr:$rows,
    I64Attr:$site);
  let results = (outs NN_Float:$result);
  let assemblyFormat =
    "$running `,` $statistic attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif
