// RUN: shardc-opt %s -nn-raise | FileCheck %s

nn.parameter @w : tensor<16x8xf32> {initializer = "w", file = "", offset = 0 : i64, length = 512 : i64, stored_type = f32, trainable}
nn.parameter @b : tensor<16xf32> {initializer = "b", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}
nn.parameter @conv1d : tensor<8x16xf32> {initializer = "c", file = "", offset = 0 : i64, length = 512 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<32x8xf32> {initializer = "t", file = "", offset = 0 : i64, length = 1024 : i64, stored_type = f32, trainable}

// CHECK-LABEL: @matmul_with_a_transposed_parameter_and_bias_on_the_left
// CHECK-DAG: %[[W:.*]] = nn.get_parameter @w
// CHECK-DAG: %[[B:.*]] = nn.get_parameter @b
// CHECK: nn.linear %arg0, %[[W]], %[[B]] {transpose_weight}
// CHECK-NEXT: return
func.func @matmul_with_a_transposed_parameter_and_bias_on_the_left(%x: tensor<2x4x8xf32>) -> tensor<2x4x16xf32> {
  %w = nn.get_parameter @w : tensor<16x8xf32>
  %t = nn.transpose %w [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %r = nn.reshape %t : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
  %wb = nn.broadcast %r : (tensor<1x8x16xf32>) -> tensor<2x8x16xf32>
  %0 = nn.matmul %x, %wb : (tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
  %b = nn.get_parameter @b : tensor<16xf32>
  %b3 = nn.reshape %b : (tensor<16xf32>) -> tensor<1x1x16xf32>
  %bb = nn.broadcast %b3 : (tensor<1x1x16xf32>) -> tensor<2x4x16xf32>
  %1 = nn.add %bb, %0 : tensor<2x4x16xf32>
  return %1 : tensor<2x4x16xf32>
}

// CHECK-LABEL: @gemm_between_reshapes_keeps_batch_and_sequence
// CHECK: nn.linear %arg0, %{{.*}}, %{{.*}} : (tensor<2x4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
// CHECK-NEXT: return
func.func @gemm_between_reshapes_keeps_batch_and_sequence(%x: tensor<2x4x8xf32>) -> tensor<2x4x16xf32> {
  %rows = nn.reshape %x : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
  %w = nn.get_parameter @conv1d : tensor<8x16xf32>
  %0 = nn.matmul %rows, %w : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %b = nn.get_parameter @b : tensor<16xf32>
  %b2 = nn.reshape %b : (tensor<16xf32>) -> tensor<1x16xf32>
  %bb = nn.broadcast %b2 : (tensor<1x16xf32>) -> tensor<8x16xf32>
  %1 = nn.add %0, %bb : tensor<8x16xf32>
  %2 = nn.reshape %1 : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
  return %2 : tensor<2x4x16xf32>
}

// CHECK-LABEL: @a_transpose_of_rows_moves_past_the_product_and_cancels
// CHECK-NOT: nn.transpose
// CHECK: nn.linear %arg0
// CHECK-NEXT: nn.gelu
// CHECK-NEXT: return
func.func @a_transpose_of_rows_moves_past_the_product_and_cancels(%x: tensor<2x4x8xf32>) -> tensor<2x4x16xf32> {
  %s = nn.transpose %x [1, 0, 2] : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %w = nn.get_parameter @conv1d : tensor<8x16xf32>
  %r = nn.reshape %w : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
  %wb = nn.broadcast %r : (tensor<1x8x16xf32>) -> tensor<4x8x16xf32>
  %0 = nn.matmul %s, %wb : (tensor<4x2x8xf32>, tensor<4x8x16xf32>) -> tensor<4x2x16xf32>
  %1 = nn.gelu %0 : tensor<4x2x16xf32>
  %2 = nn.transpose %1 [1, 0, 2] : (tensor<4x2x16xf32>) -> tensor<2x4x16xf32>
  return %2 : tensor<2x4x16xf32>
}

// Of one sample and one position, a residual looks like a bias; it is none.
// CHECK-LABEL: @a_residual_of_one_row_is_no_bias
// CHECK: %[[Y:.*]] = nn.linear %arg0, %{{.*}} {transpose_weight} : (tensor<1x8xf32>, tensor<16x8xf32>)
// CHECK-NEXT: nn.add %[[Y]], %arg1
func.func @a_residual_of_one_row_is_no_bias(%x: tensor<1x8xf32>, %residual: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %w = nn.get_parameter @w : tensor<16x8xf32>
  %0 = nn.matmul %x, %w {transpose_rhs} : (tensor<1x8xf32>, tensor<16x8xf32>) -> tensor<1x16xf32>
  %1 = nn.add %0, %residual : tensor<1x16xf32>
  return %1 : tensor<1x16xf32>
}

// CHECK-LABEL: @a_product_of_activations_stays_a_matmul
// CHECK: nn.matmul %arg0, %arg1
func.func @a_product_of_activations_stays_a_matmul(%x: tensor<1x4x8xf32>, %y: tensor<1x8x4xf32>) -> tensor<1x4x4xf32> {
  %0 = nn.matmul %x, %y : (tensor<1x4x8xf32>, tensor<1x8x4xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}

// CHECK-LABEL: @a_product_that_is_used_without_bias_too_keeps_it_apart
// CHECK: %[[Y:.*]] = nn.linear %arg0, %{{.*}} {transpose_weight}
// CHECK: nn.add %[[Y]]
func.func @a_product_that_is_used_without_bias_too_keeps_it_apart(%x: tensor<4x8xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %w = nn.get_parameter @w : tensor<16x8xf32>
  %0 = nn.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %b = nn.get_parameter @b : tensor<16xf32>
  %b2 = nn.reshape %b : (tensor<16xf32>) -> tensor<1x16xf32>
  %bb = nn.broadcast %b2 : (tensor<1x16xf32>) -> tensor<4x16xf32>
  %1 = nn.add %0, %bb : tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// CHECK-LABEL: @ids_look_rows_up_and_constant_positions_slice
// CHECK-DAG: %[[T:.*]] = nn.get_parameter @table
// CHECK-DAG: %[[E:.*]] = nn.embedding %[[T]], %arg0 : (tensor<32x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
// CHECK-DAG: %[[S:.*]] = nn.slice %[[T]] [1, 0] to [4, 8] by [1, 1]
// CHECK-DAG: %[[R:.*]] = nn.reshape %[[S]] : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: nn.broadcast %[[R]] : (tensor<1x3x8xf32>) -> tensor<2x3x8xf32>
func.func @ids_look_rows_up_and_constant_positions_slice(%ids: tensor<2x3xi64>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %table = nn.get_parameter @table : tensor<32x8xf32>
  %0 = nn.gather %table, %ids {axis = 0 : i64} : (tensor<32x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %positions = nn.constant dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi64>
  %1 = nn.gather %table, %positions {axis = 0 : i64} : (tensor<32x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  return %0, %1 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// CHECK-LABEL: @an_index_grid_of_all_positions_is_a_view
// CHECK: %[[R:.*]] = nn.reshape %arg0 : (tensor<2x3xi64>) -> tensor<2x1x3xi64>
// CHECK-NEXT: nn.broadcast %[[R]] : (tensor<2x1x3xi64>) -> tensor<2x2x3xi64>
func.func @an_index_grid_of_all_positions_is_a_view(%x: tensor<2x3xi64>) -> tensor<2x2x3xi64> {
  %grid = nn.constant dense<[[[[0, 0], [0, 1], [0, 2]], [[0, 0], [0, 1], [0, 2]]], [[[1, 0], [1, 1], [1, 2]], [[1, 0], [1, 1], [1, 2]]]]> : tensor<2x2x3x2xi64>
  %0 = nn.gather_nd %x, %grid {batch_dims = 0 : i64} : (tensor<2x3xi64>, tensor<2x2x3x2xi64>) -> tensor<2x2x3xi64>
  return %0 : tensor<2x2x3xi64>
}
