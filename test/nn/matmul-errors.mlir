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

// -----

func.func @a_residual_is_as_the_result(%x: tensor<2x3xf32>, %w: tensor<3x5xf32>, %r: tensor<2x3xf32>) {
  // expected-error @below {{expects dim 1 of residual to be 5, got 3}}
  %y = nn.linear %x, %w residual %r : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<2x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @a_bias_gradient_has_the_outputs(%x: tensor<2x3xf32>, %g: tensor<2x5xf32>) {
  // expected-error @below {{expects dim 0 of bias_gradient to be 5, got 3}}
  %w, %b = nn.linear_weight_grad %x, %g : (tensor<2x3xf32>, tensor<2x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>)
  return
}

// -----

func.func @stacked_weights_read_the_input(%x: tensor<2x3xf32>, %v: tensor<5x3xf32>, %w: tensor<5x4xf32>) {
  // expected-error @below {{expects dim 1 of weights to be 3, got 4}}
  %y = nn.stacked_linear %x weights(%v, %w) {transpose_weight} : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<2x10xf32>
  return
}

// -----

func.func @stacked_rows_are_the_inputs_columns(%x: tensor<2x9xf32>, %v: tensor<5x3xf32>, %w: tensor<5x3xf32>) {
  // expected-error @below {{expects an input of 10 columns, the weights' rows, got 9}}
  %y = nn.stacked_linear %x weights(%v, %w) : (tensor<2x9xf32>, tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @stacked_weights_have_a_bias_each(%x: tensor<2x3xf32>, %v: tensor<5x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{expects no bias, or one for each of 2 weights, got 1}}
  %y = nn.stacked_linear %x weights(%v, %w) biases(%b) {transpose_weight} : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5xf32>) -> tensor<2x10xf32>
  return
}

// -----

func.func @stacked_gradients_have_all_rows(%dy: tensor<2x9xf32>, %x: tensor<2x3xf32>) {
  // expected-error @below {{expects gradients of 9 rows together, got 10}}
  %v, %w = nn.stacked_linear_weight_grad %dy, %x : (tensor<2x9xf32>, tensor<2x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>)
  return
}
