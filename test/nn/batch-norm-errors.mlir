// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @gamma_fits_the_channels(%x: tensor<8x4xf32>, %c: tensor<4xf32>, %g: tensor<3xf32>) {
  // expected-error @below {{expects dim 0 of gamma to be 4, got 3}}
  %y, %m, %v = nn.batch_norm %x, %g, %c, %c, %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, site = 0 : i64}
    : (tensor<8x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @statistics_have_the_type_of_the_arithmetic(%x: tensor<8x4xbf16>, %c: tensor<4xf32>) {
  // expected-error @below {{expects elements of mean to be 'f32', got 'bf16'}}
  %y, %m, %v = nn.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, site = 0 : i64}
    : (tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xbf16>, tensor<4xbf16>, tensor<4xf32>)
  return
}

// -----

func.func @the_gradient_is_like_the_input(%x: tensor<8x4xf32>, %dy: tensor<4x4xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{expects dim 0 of gradient to be 8, got 4}}
  %dx, %dg, %db = nn.batch_norm_grad %dy, %x, %c, %c, %c {epsilon = 1.0e-5 : f64}
    : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rows_are_counted(%c: tensor<4xf32>) {
  // expected-error @below {{expects rows, or 0, got -1}}
  %d = nn.running_gradient %c, %c {momentum = 0.9 : f64, rows = -1 : i64, site = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
