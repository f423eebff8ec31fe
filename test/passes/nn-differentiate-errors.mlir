// RUN: shardc-opt %s -nn-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{expects @model to return one float scalar, the loss; attach one first}}
func.func @model(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}

// -----

nn.parameter @w : tensor<2x2xf32> {initializer = "w", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<1x2xf32>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<2x2xf32>
  // expected-error @below {{'nn.softmax_grad' has no gradient, but lies between a trainable parameter and the loss}}
  %y = nn.softmax_grad %w, %w : tensor<2x2xf32>
  %s = nn.reduce_sum %y [0, 1] : (tensor<2x2xf32>) -> tensor<1x1xf32>
  %loss = nn.reshape %s : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A parameter whose values only choose (through a comparison) has no gradient, as in PyTorch.
// expected-warning @below {{parameter 'w' does not reach the loss; it is not trained}}
nn.parameter @w : tensor<f32> {initializer = "w", file = "", offset = 0 : i64, length = 4 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<f32> {initializer = "v", file = "", offset = 0 : i64, length = 4 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<f32>) -> tensor<f32> {
  %w = nn.get_parameter @w : tensor<f32>
  %v = nn.get_parameter @v : tensor<f32>
  %c = nn.compare gt %w, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %loss = nn.select %c, %v, %x : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
