// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @inner_dims_agree(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{expects dim 0 of rhs to be 3, got 4}}
  %c = nn.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @batches_agree(%a: tensor<2x3x4xf32>, %b: tensor<1x5x4xf32>) {
  // expected-error @below {{expects dim 0 of rhs to be 2, got 1}}
  %c = nn.matmul %a, %b {transpose_rhs} : (tensor<2x3x4xf32>, tensor<1x5x4xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @a_weight_reads_the_input(%x: tensor<2x3xf32>, %w: tensor<5x4xf32>) {
  // expected-error @below {{expects dim 1 of weight to be 3, got 4}}
  %y = nn.linear %x, %w {transpose_weight} : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @a_bias_fits_the_outputs(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{expects dim 0 of bias to be 4, got 3}}
  %y = nn.linear %x, %w, %b : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @rows_of_input_and_gradient_agree(%x: tensor<2x3xf32>, %g: tensor<4x5xf32>) {
  // expected-error @below {{expects dim 0 of gradient to be 2, got 4}}
  %y = nn.linear_weight_grad %x, %g : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @a_product_is_not_rounded_to_another_16_bit_type(%a: tensor<2x3xbf16>, %b: tensor<3x5xbf16>) {
  // expected-error @below {{expects elements of result to be 'bf16' or 'f32', got 'f16'}}
  %c = nn.matmul %a, %b : (tensor<2x3xbf16>, tensor<3x5xbf16>) -> tensor<2x5xf16>
  return
}

// -----

func.func @a_gradient_of_float32_is_float32(%x: tensor<2x3xf32>, %g: tensor<2x5xf32>) {
  // expected-error @below {{expects elements of result to be 'f32', got 'f64'}}
  %w = nn.linear_weight_grad %x, %g : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<3x5xf64>
  return
}

// -----

func.func @a_linear_layer_reads_one_type(%x: tensor<2x3xf32>, %w: tensor<3x5xbf16>) {
  // expected-error @below {{expects elements of weight to be 'f32', got 'bf16'}}
  %y = nn.linear %x, %w : (tensor<2x3xf32>, tensor<3x5xbf16>) -> tensor<2x5xf32>
  return
}
