// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @softmax_has_a_last_dim(%x: tensor<f32>) {
  // expected-error @below {{expects input to have at least 1 dims, got 0}}
  %y = nn.softmax %x : tensor<f32>
  return
}

// -----

func.func @gamma_fits_the_row(%x: tensor<2x4xf32>, %g: tensor<3xf32>) {
  // expected-error @below {{expects dim 0 of gamma to be 4, got 3}}
  %y, %r = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @beta_fits_the_row(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<1x4xf32>) {
  // expected-error @below {{expects beta to have 1 dims, got 2}}
  %y, %m, %r = nn.layer_norm %x, %g, %b {epsilon = 1.0e-5 : f64}
    : (tensor<2x4xf32>, tensor<4xf32>, tensor<1x4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @statistics_are_per_row(%x: tensor<2x4xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{expects dim 0 of rstd to be 2, got 1}}
  %y, %r = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<1x1xf32>)
  return
}

// -----

func.func @statistics_of_16_bits_are_float32(%x: tensor<2x4xbf16>, %g: tensor<4xbf16>) {
  // expected-error @below {{expects elements of rstd to be 'f32', got 'bf16'}}
  %y, %r = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x4xbf16>, tensor<4xbf16>) -> (tensor<2x4xbf16>, tensor<2x1xbf16>)
  return
}

// -----

func.func @softmax_keeps_the_shape(%x: tensor<2x4xbf16>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %y = nn.softmax %x : (tensor<2x4xbf16>) -> tensor<4x2xf32>
  return
}
