// RUN: shardc-opt %s -split-input-file -verify-diagnostics

func.func @dims_differ(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dims to be distinct, got 1 twice}}
  %y = nn.reduce_sum %x [1, 1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @dims_are_there(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dims to be in [0, 2), got 2}}
  %y = nn.reduce_max %x [2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dims_stay_as_ones(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects result to have 2 dims, got 1}}
  %y = nn.reduce_mean %x [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// A sum of floats may have another float type, and nothing else may.
func.func @types_stay(%x: tensor<2x3xbf16>, %i: tensor<2x3xi32>) {
  %s = nn.reduce_sum %x [1] : (tensor<2x3xbf16>) -> tensor<2x1xf32>
  // expected-error @below {{expects elements of result to be 'bf16', got 'f32'}}
  %y = nn.reduce_min %x [1] : (tensor<2x3xbf16>) -> tensor<2x1xf32>
  return
}

// -----

func.func @sums_of_integers_stay_integers(%x: tensor<2x3xi32>) {
  // expected-error @below {{expects elements of result to be 'i32', got 'f32'}}
  %y = nn.reduce_sum %x [0] : (tensor<2x3xi32>) -> tensor<1x3xf32>
  return
}
