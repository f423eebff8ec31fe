// RUN: shardc-opt %s -canonicalize -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @drops_reductions_over_ones
// CHECK-SAME: (%[[X:.*]]: tensor<2x1xf32>)
// CHECK-NEXT: return %[[X]]
func.func @drops_reductions_over_ones(%x: tensor<2x1xf32>) -> tensor<2x1xf32> {
  %a = nn.reduce_sum %x [1] : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %b = nn.reduce_max %a [] : (tensor<2x1xf32>) -> tensor<2x1xf32>
  return %b : tensor<2x1xf32>
}

// -----

func.func @reduced_dims_stay_as_ones(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dim 1 of result to be 1, got 3}}
  %a = nn.reduce_mean %x [1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduced_dims_are_distinct(%x: tensor<2x3xf32>) {
  // expected-error @below {{expects dims to be distinct, got 0 twice}}
  %a = nn.reduce_prod %x [0, 0] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

// A sum over nothing that changes the type is no copy.
// CHECK-LABEL: @a_sum_in_another_type_stays
// CHECK: nn.reduce_sum %arg0 [1] : (tensor<2x1xbf16>) -> tensor<2x1xf32>
func.func @a_sum_in_another_type_stays(%x: tensor<2x1xbf16>) -> tensor<2x1xf32> {
  %a = nn.reduce_sum %x [1] : (tensor<2x1xbf16>) -> tensor<2x1xf32>
  return %a : tensor<2x1xf32>
}
