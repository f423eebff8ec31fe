// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @each_row_has_a_label(%x: tensor<2x3x5xf32>, %l: tensor<2x4xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects dim 1 of labels to be 3, got 4}}
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<2x3x5xf32>, tensor<2x4xi64>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @a_shift_leaves_something(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects shift to be in [0, 3), got 3}}
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 3 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi64>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @smoothing_is_a_part(%x: tensor<2x5xf32>, %l: tensor<2xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects smoothing to be in [0, 1], got 1.500000e+00}}
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64, smoothing = 1.5 : f64} : (tensor<2x5xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @logits_have_classes(%x: tensor<f32>, %l: tensor<i64>, %s: tensor<f32>) {
  // expected-error @below {{expects}}
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<f32>, tensor<i64>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @a_weight_for_each_class(%x: tensor<2x5xf32>, %l: tensor<2xi64>, %s: tensor<f32>, %w: tensor<4xf32>) {
  // expected-error @below {{expects dim 0 of class_weights to be 5, got 4}}
  %y = nn.cross_entropy %x, %l, %s class_weights %w {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<2x5xf32>, tensor<2xi64>, tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @no_bias_no_gradient_of_it(%x: tensor<2x4xf32>, %w: tensor<4x5xf32>, %l: tensor<2xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects no bias_gradient where there is no bias}}
  %y, %b = "nn.linear_cross_entropy_grad"(%x, %w, %l, %s) {ignore_index = -100 : i64, shift = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 1>}
    : (tensor<2x4xf32>, tensor<4x5xf32>, tensor<2xi64>, tensor<f32>) -> (tensor<f32>, tensor<5xf32>)
  return
}

// -----

func.func @the_scale_of_16_bits_is_float32(%x: tensor<2x5xbf16>, %l: tensor<2xi64>, %s: tensor<bf16>) {
  // expected-error @below {{expects elements of scale to be 'f32', got 'bf16'}}
  %y = nn.cross_entropy %x, %l, %s {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<2x5xbf16>, tensor<2xi64>, tensor<bf16>) -> tensor<f32>
  return
}

// -----

func.func @the_loss_of_16_bits_is_float32(%x: tensor<2x4xbf16>, %w: tensor<4x5xbf16>, %l: tensor<2xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects elements of loss to be 'f32', got 'bf16'}}
  %y = nn.linear_cross_entropy %x, %w labels %l, %s {ignore_index = -100 : i64, shift = 0 : i64} : (tensor<2x4xbf16>, tensor<4x5xbf16>, tensor<2xi64>, tensor<f32>) -> tensor<bf16>
  return
}

// -----

func.func @the_input_gradient_has_the_inputs_type(%x: tensor<2x4xbf16>, %w: tensor<4x5xbf16>, %l: tensor<2xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects elements of input_gradient to be 'bf16', got 'f32'}}
  %y, %dx = "nn.linear_cross_entropy_grad"(%x, %w, %l, %s) {ignore_index = -100 : i64, shift = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0>}
    : (tensor<2x4xbf16>, tensor<4x5xbf16>, tensor<2xi64>, tensor<f32>) -> (tensor<f32>, tensor<2x4xf32>)
  return
}

// -----

func.func @a_softcap_is_positive(%x: tensor<2x4xf32>, %w: tensor<4x5xf32>, %l: tensor<2xi64>, %s: tensor<f32>) {
  // expected-error @below {{expects softcap to be 0, which is none, or a positive number, got -1}}
  %y = nn.linear_cross_entropy %x, %w labels %l, %s {ignore_index = -100 : i64, shift = 0 : i64, softcap = -1.0 : f64} : (tensor<2x4xf32>, tensor<4x5xf32>, tensor<2xi64>, tensor<f32>) -> tensor<f32>
  return
}
