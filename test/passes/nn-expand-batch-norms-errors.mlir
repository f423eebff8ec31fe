// RUN: shardc-opt %s -split-input-file -nn-expand-batch-norms -verify-diagnostics

func.func @eval() {
  return
}
func.func @train(%x: tensor<1x4xf32>, %c: tensor<4xf32>) -> tensor<1x4xf32> {
  // expected-error @below {{a batch norm in train mode expects more than one value per channel, got 1 on a rank}}
  %y, %mean, %variance = nn.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-05 : f64, momentum = 0.9 : f64, site = 0 : i64} : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y : tensor<1x4xf32>
}
