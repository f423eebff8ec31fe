// RUN: shardc-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @drops_what_changes_nothing
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]] : tensor<2x3xf32>
func.func @drops_what_changes_nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = nn.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = nn.transpose %a [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = nn.broadcast %b : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = nn.slice %c [0, 0] to [2, 3] by [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = nn.pad %d [0, 0] [0, 0] [0, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %f = nn.concat %e {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %f : tensor<2x3xf32>
}

// CHECK-LABEL: @joins_chains
// CHECK-NEXT: nn.reshape %{{.*}} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: nn.transpose %{{.*}} [2, 1, 0] : (tensor<4x5x6xf32>) -> tensor<6x5x4xf32>
// CHECK-NEXT: nn.broadcast %{{.*}} : (tensor<1x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return
func.func @joins_chains(%x: tensor<2x3xf32>, %y: tensor<4x5x6xf32>, %z: tensor<1x1xf32>) -> (tensor<3x2xf32>, tensor<6x5x4xf32>, tensor<2x3xf32>) {
  %a = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %b = nn.reshape %a : (tensor<6xf32>) -> tensor<3x2xf32>
  %c = nn.transpose %y [1, 2, 0] : (tensor<4x5x6xf32>) -> tensor<5x6x4xf32>
  %d = nn.transpose %c [1, 0, 2] : (tensor<5x6x4xf32>) -> tensor<6x5x4xf32>
  %e = nn.broadcast %z : (tensor<1x1xf32>) -> tensor<2x1xf32>
  %f = nn.broadcast %e : (tensor<2x1xf32>) -> tensor<2x3xf32>
  return %b, %d, %f : tensor<3x2xf32>, tensor<6x5x4xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @undoes_pairs
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @undoes_pairs(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %b = nn.reshape %a : (tensor<6xf32>) -> tensor<2x3xf32>
  %c = nn.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = nn.transpose %c [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %b, %d : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @moves_small_constants
// CHECK-DAG: nn.constant dense<{{\[\[}}1, 3], [2, 4]]> : tensor<2x2xi64>
// CHECK-DAG: nn.constant dense<[2, 4]> : tensor<2xi64>
// CHECK-DAG: nn.constant dense<7> : tensor<1000x1000xi64>
// CHECK-NEXT: return
func.func @moves_small_constants() -> (tensor<2x2xi64>, tensor<2xi64>, tensor<1000x1000xi64>) {
  %c = nn.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %a = nn.reshape %c : (tensor<4xi64>) -> tensor<2x2xi64>
  %t = nn.transpose %a [1, 0] : (tensor<2x2xi64>) -> tensor<2x2xi64>
  %s = nn.slice %c [1] to [4] by [2] : (tensor<4xi64>) -> tensor<2xi64>
  %seven = nn.constant dense<7> : tensor<1x1xi64>
  %b = nn.broadcast %seven : (tensor<1x1xi64>) -> tensor<1000x1000xi64>
  return %t, %s, %b : tensor<2x2xi64>, tensor<2xi64>, tensor<1000x1000xi64>
}
