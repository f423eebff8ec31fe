// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @reshape_keeps_the_elements(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects as many elements as the input's 6, got 8}}
  %y = nn.reshape %x : (tensor<2x3xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @reshape_keeps_the_type(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects elements of result to be 'f32', got 'f64'}}
  %y = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf64>
  return
}

// -----

func.func @a_permutation_has_each_dim_once(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects permutation to be distinct, got 1 twice}}
  %y = nn.transpose %x [1, 1] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @a_permutation_is_as_long_as_the_rank(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects permutation to have 2 entries, got 1}}
  %y = nn.transpose %x [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transposed_dims_follow_the_permutation(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dim 0 of result to be 3, got 2}}
  %y = nn.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @only_ones_repeat(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dim 0 of result to be 2, got 4; only dims of size 1 repeat}}
  %y = nn.broadcast %x : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @broadcast_keeps_the_rank(%x: tensor<3xf32>) {
  // expected-error @below {{expects result to have 1 dims, got 2}}
  %y = nn.broadcast %x : (tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @a_slice_stays_inside(%x: tensor<5xf32>) {
  // expected-error @below {{expects 0 <= start <= limit <= 5 in dim 0, got start 2 and limit 6}}
  %y = nn.slice %x [2] to [6] by [1] : (tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @a_slice_goes_forwards(%x: tensor<5xf32>) {
  // expected-error @below {{expects a positive stride in dim 0, got 0}}
  %y = nn.slice %x [0] to [5] by [0] : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @a_strided_slice_rounds_up(%x: tensor<5xf32>) {
  // expected-error @below {{expects dim 0 of result to be 3, got 2}}
  %y = nn.slice %x [0] to [5] by [2] : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reverse_names_dims(%x: tensor<5xf32>) {
  // expected-error @below {{expects dims to be in [0, 1), got 1}}
  %y = nn.reverse %x [1] : tensor<5xf32>
  return
}

// -----

func.func @concat_adds_up(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) {
  // expected-error @below {{expects dim 1 of result to be 4, got 5}}
  %z = nn.concat %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @concat_agrees_elsewhere(%x: tensor<2x3xf32>, %y: tensor<3x1xf32>) {
  // expected-error @below {{expects dim 0 of each input to be 2, got 3}}
  %z = nn.concat %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @padding_only_adds(%x: tensor<3xf32>) {
  // expected-error @below {{expects padding of 0 or more in dim 0, got -1, 0, 0}}
  %y = nn.pad %x [-1] [0] [0] : (tensor<3xf32>) -> tensor<2xf32>
  return
}
