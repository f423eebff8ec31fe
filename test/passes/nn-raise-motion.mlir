// RUN: shardc-opt %s -nn-raise | FileCheck %s
//
// Slices are read where a value is made.

// CHECK-LABEL: @slice_of_a_concat
// CHECK-SAME: %[[A:[^:]*]]: tensor<4x2xf32>, %[[B:[^:]*]]: tensor<4x6xf32>
// CHECK-NOT: nn.concat
// CHECK: %[[X:.*]] = nn.slice %[[B]] [1, 1] to [3, 6] by [1, 2]
// CHECK: %[[Y:.*]] = nn.tanh %[[X]]
// CHECK: %[[Z:.*]] = nn.exp %[[A]]
// CHECK: return %[[Y]], %[[Z]]
func.func @slice_of_a_concat(%a: tensor<4x2xf32>, %b: tensor<4x6xf32>) -> (tensor<2x3xf32>, tensor<4x2xf32>) {
  %all = nn.concat %a, %b {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  %x = nn.slice %all [1, 3] to [3, 8] by [1, 2] : (tensor<4x8xf32>) -> tensor<2x3xf32>
  %y = nn.tanh %x : tensor<2x3xf32>
  %first = nn.slice %all [0, 0] to [4, 2] by [1, 1] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  %z = nn.exp %first : tensor<4x2xf32>
  return %y, %z : tensor<2x3xf32>, tensor<4x2xf32>
}

// One that begins in a part and ends in another is cut out of both.
// CHECK-LABEL: @slice_of_two
// CHECK: nn.concat
// CHECK: nn.slice
func.func @slice_of_two(%a: tensor<4x2xf32>, %b: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %all = nn.concat %a, %b {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  %x = nn.slice %all [0, 1] to [4, 4] by [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return %x : tensor<4x3xf32>
}
