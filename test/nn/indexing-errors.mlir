// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @a_table_has_rows(%t: tensor<2x3x4xf32>, %i: tensor<5xi64>) {
  // expected-error @below {{expects table to have 2 dims, got 3}}
  %y = nn.embedding %t, %i : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return
}

// -----

func.func @rows_follow_the_ids(%t: tensor<3x4xf32>, %i: tensor<2x5xi64>) {
  // expected-error @below {{expects dim 1 of result to be 5, got 6}}
  %y = nn.embedding %t, %i : (tensor<3x4xf32>, tensor<2x5xi64>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @gradients_follow_the_ids(%g: tensor<2x4xf32>, %i: tensor<5xi64>) {
  // expected-error @below {{expects dim 0 of gradient to be 5, got 2}}
  %y = nn.embedding_grad %g, %i : (tensor<2x4xf32>, tensor<5xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_has_an_axis(%t: tensor<3x4xf32>, %i: tensor<5xi64>) {
  // expected-error @below {{expects axis to be in [0, 2), got -1}}
  %y = nn.gather %t, %i {axis = -1 : i64} : (tensor<3x4xf32>, tensor<5xi64>) -> tensor<3x5xf32>
  return
}

// -----

func.func @tuples_fit_the_data(%t: tensor<3x4xf32>, %i: tensor<5x3xi64>) {
  // expected-error @below {{expects index tuples of 1 to 2 entries, got 3}}
  %y = nn.gather_nd %t, %i {batch_dims = 0 : i64} : (tensor<3x4xf32>, tensor<5x3xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @batches_agree(%t: tensor<3x4xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{expects dim 0 of indices to be the data's 3, got 2}}
  %y = nn.gather_nd %t, %i {batch_dims = 1 : i64} : (tensor<3x4xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @no_more_than_a_row(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects at most the 3 elements of a row, got 4}}
  %y, %i = nn.top_k %x : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}

// -----

func.func @places_are_as_many_as_values(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dim 1 of indices to be 2, got 1}}
  %y, %i = nn.top_k %x : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x1xi64>)
  return
}

// -----

func.func @rows_have_elements() {
  %x = nn.constant dense<1.0> : tensor<f32>
  // expected-error @below {{expects input to have at least 1 dims, got 0}}
  %y, %i = nn.top_k %x : (tensor<f32>) -> (tensor<f32>, tensor<i64>)
  return
}

// -----

func.func @cumsum_has_an_axis(%x: tensor<3xf32>) {
  // expected-error @below {{expects axis to be in [0, 1), got 1}}
  %y = nn.cumsum %x {axis = 1 : i64} : tensor<3xf32>
  return
}

// -----

func.func @a_tables_gradient_may_be_float32_alone(%g: tensor<3x4xbf16>, %i: tensor<3xi64>) {
  // expected-error @below {{expects elements of result to be 'bf16' or 'f32', got 'f64'}}
  %y = nn.embedding_grad %g, %i : (tensor<3x4xbf16>, tensor<3xi64>) -> tensor<5x4xf64>
  return
}
