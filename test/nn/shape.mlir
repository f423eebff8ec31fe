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

// Three slices' gradients, as they come: last use first.
// CHECK-LABEL: @joins_padded_slices
// CHECK-SAME: (%[[A:[^:]*]]: tensor<2x1xf32>, %[[B:[^:]*]]: tensor<2x2xf32>, %[[C:[^:]*]]: tensor<2x3xf32>)
// CHECK-NEXT: %[[ALL:.*]] = nn.concat %[[A]], %[[B]], %[[C]] {axis = 1 : i64}
// CHECK-NEXT: return %[[ALL]]
func.func @joins_padded_slices(%a: tensor<2x1xf32>, %b: tensor<2x2xf32>, %c: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %pc = nn.pad %c [0, 3] [0, 0] [0, 0] : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %pb = nn.pad %b [0, 1] [0, 3] [0, 0] : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %pa = nn.pad %a [0, 0] [0, 5] [0, 0] : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %s = nn.add %pc, %pb : tensor<2x6xf32>
  %t = nn.add %s, %pa : tensor<2x6xf32>
  return %t : tensor<2x6xf32>
}

// In any order, with zeros where no slice was.
// CHECK-LABEL: @joins_padded_slices_with_gaps
// CHECK-NEXT: %[[ZEROS:.*]] = nn.constant dense<0.000000e+00> : tensor<2x1xf32>
// CHECK-NEXT: %[[ALL:.*]] = nn.concat %arg2, %[[ZEROS]], %arg0, %arg1 {axis = 1 : i64}
// CHECK-NEXT: return %[[ALL]]
func.func @joins_padded_slices_with_gaps(%a: tensor<2x1xf32>, %b: tensor<2x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x6xf32> {
  %pa = nn.pad %a [0, 3] [0, 2] [0, 0] : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %pb = nn.pad %b [0, 4] [0, 0] [0, 0] : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %pc = nn.pad %c [0, 0] [0, 4] [0, 0] : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %ab = nn.add %pa, %pb : tensor<2x6xf32>
  %abc = nn.add %ab, %pc : tensor<2x6xf32>
  return %abc : tensor<2x6xf32>
}

// CHECK-LABEL: @keeps_sums_of_slices_that_overlap_or_interleave
// CHECK: nn.add
// CHECK: nn.add
func.func @keeps_sums_of_slices_that_overlap_or_interleave(%a: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %p = nn.pad %a [0] [2] [0] : (tensor<2xf32>) -> tensor<4xf32>
  %q = nn.pad %a [1] [1] [0] : (tensor<2xf32>) -> tensor<4xf32>
  %s = nn.add %p, %q : tensor<4xf32>
  %e = nn.pad %a [0] [1] [1] : (tensor<2xf32>) -> tensor<4xf32>
  %o = nn.pad %a [1] [0] [1] : (tensor<2xf32>) -> tensor<4xf32>
  %t = nn.add %e, %o : tensor<4xf32>
  return %s, %t : tensor<4xf32>, tensor<4xf32>
}

// Three taps of a window, each times a number per channel: slices of one padded
// value. What is padded otherwise, or varies along a padded dim, stays.
// CHECK-LABEL: @shares_pads_of_scaled_values
// CHECK: %[[P:.*]] = nn.pad %arg0 [2, 0] [2, 0] [0, 0] : (tensor<4x2xf32>) -> tensor<8x2xf32>
// CHECK: %[[A:.*]] = nn.slice %[[P]] [2, 0] to [8, 2] by [1, 1]
// CHECK: %[[FA:.*]] = nn.broadcast %arg1 : (tensor<1x2xf32>) -> tensor<6x2xf32>
// CHECK: %[[MA:.*]] = nn.mul %[[A]], %[[FA]]
// CHECK: %[[B:.*]] = nn.slice %[[P]] [1, 0] to [7, 2] by [1, 1]
// CHECK: %[[MB:.*]] = nn.mul %[[B]]
// CHECK: %[[C:.*]] = nn.slice %[[P]] [0, 0] to [6, 2] by [1, 1]
// CHECK: %[[MC:.*]] = nn.mul %[[C]]
// CHECK: %[[AB:.*]] = nn.add %[[MA]], %[[MB]]
// CHECK: nn.add %[[AB]], %[[MC]]
// CHECK: nn.pad %{{.*}} [0, 1] [0, 0] [0, 0]
func.func @shares_pads_of_scaled_values(%x: tensor<4x2xf32>, %a: tensor<1x2xf32>, %b: tensor<1x2xf32>, %c: tensor<1x2xf32>) -> (tensor<6x2xf32>, tensor<4x3xf32>) {
  %fa = nn.broadcast %a : (tensor<1x2xf32>) -> tensor<4x2xf32>
  %fb = nn.broadcast %b : (tensor<1x2xf32>) -> tensor<4x2xf32>
  %fc = nn.broadcast %c : (tensor<1x2xf32>) -> tensor<4x2xf32>
  %xa = nn.mul %x, %fa : tensor<4x2xf32>
  %xb = nn.mul %fb, %x : tensor<4x2xf32>
  %xc = nn.mul %x, %fc : tensor<4x2xf32>
  %pa = nn.pad %xa [0, 0] [2, 0] [0, 0] : (tensor<4x2xf32>) -> tensor<6x2xf32>
  %pb = nn.pad %xb [1, 0] [1, 0] [0, 0] : (tensor<4x2xf32>) -> tensor<6x2xf32>
  %pc = nn.pad %xc [2, 0] [0, 0] [0, 0] : (tensor<4x2xf32>) -> tensor<6x2xf32>
  %ab = nn.add %pa, %pb : tensor<6x2xf32>
  %abc = nn.add %ab, %pc : tensor<6x2xf32>
  %other = nn.mul %x, %fa : tensor<4x2xf32>
  %po = nn.pad %other [0, 1] [0, 0] [0, 0] : (tensor<4x2xf32>) -> tensor<4x3xf32>
  return %abc, %po : tensor<6x2xf32>, tensor<4x3xf32>
}
