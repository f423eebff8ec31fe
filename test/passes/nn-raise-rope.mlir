// RUN: shardc-opt %s -nn-raise | FileCheck %s
// Rotary positions in the forms that exporters leave.

// CHECK-LABEL: @rotates_halves_behind_the_transpose
// CHECK-DAG: %[[C:.*]] = nn.reshape %arg1 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
// CHECK-DAG: %[[S:.*]] = nn.reshape %arg2 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
// CHECK: %[[Y:.*]] = nn.rope %arg0, %[[C]], %[[S]] :
// CHECK-NEXT: return %[[Y]]
func.func @rotates_halves_behind_the_transpose(%x: tensor<2x4x2x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %2 = nn.broadcast %1 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %5 = nn.slice %0 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.slice %0 [0, 0, 0, 4] to [2, 2, 4, 8] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %7 = nn.neg %6 : tensor<2x2x4x4xf32>
  %8 = nn.concat %7, %5 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x8xf32>
  %9 = nn.mul %8, %4 : tensor<2x2x4x8xf32>
  %10 = nn.mul %2, %0 : tensor<2x2x4x8xf32>
  %11 = nn.add %9, %10 : tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

nn.parameter @angles : tensor<4x8xf32> {initializer = "a", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
nn.parameter @frozen : tensor<4x8xf32> {initializer = "f", file = "", offset = 128 : i64, length = 128 : i64, stored_type = f32}

// There is no gradient of angles.
// CHECK-LABEL: @learns_its_angles
// CHECK-NOT: nn.rope
// CHECK: return
func.func @learns_its_angles(%x: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %a = nn.get_parameter @angles : tensor<4x8xf32>
  %cos = nn.cos %a : tensor<4x8xf32>
  %sin = nn.sin %a : tensor<4x8xf32>
  %0 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %1 = nn.broadcast %0 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %2 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %3 = nn.broadcast %2 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %4 = nn.slice %x [0, 0, 0, 0] to [2, 4, 2, 4] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %5 = nn.slice %x [0, 0, 0, 4] to [2, 4, 2, 8] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %6 = nn.mul %x, %1 : tensor<2x4x2x8xf32>
  %7 = nn.neg %5 : tensor<2x4x2x4xf32>
  %8 = nn.concat %7, %4 {axis = 3 : i64} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x4x2x8xf32>
  %9 = nn.mul %8, %3 : tensor<2x4x2x8xf32>
  %10 = nn.add %6, %9 : tensor<2x4x2x8xf32>
  return %10 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @has_frozen_angles
// CHECK: nn.rope
func.func @has_frozen_angles(%x: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %a = nn.get_parameter @frozen : tensor<4x8xf32>
  %cos = nn.cos %a : tensor<4x8xf32>
  %sin = nn.sin %a : tensor<4x8xf32>
  %0 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %1 = nn.broadcast %0 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %2 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %3 = nn.broadcast %2 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %4 = nn.slice %x [0, 0, 0, 0] to [2, 4, 2, 4] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %5 = nn.slice %x [0, 0, 0, 4] to [2, 4, 2, 8] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %6 = nn.mul %x, %1 : tensor<2x4x2x8xf32>
  %7 = nn.neg %5 : tensor<2x4x2x4xf32>
  %8 = nn.concat %7, %4 {axis = 3 : i64} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x4x2x8xf32>
  %9 = nn.mul %8, %3 : tensor<2x4x2x8xf32>
  %10 = nn.add %6, %9 : tensor<2x4x2x8xf32>
  return %10 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @stops_the_gradient_of_its_angles
// CHECK: nn.rope
func.func @stops_the_gradient_of_its_angles(%x: tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32> {
  %a = nn.get_parameter @angles : tensor<4x8xf32>
  %b = nn.stop_gradient %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %cos = nn.cos %b : tensor<4x8xf32>
  %sin = nn.sin %b : tensor<4x8xf32>
  %0 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %1 = nn.broadcast %0 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %2 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %3 = nn.broadcast %2 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %4 = nn.slice %x [0, 0, 0, 0] to [2, 4, 2, 4] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %5 = nn.slice %x [0, 0, 0, 4] to [2, 4, 2, 8] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %6 = nn.mul %x, %1 : tensor<2x4x2x8xf32>
  %7 = nn.neg %5 : tensor<2x4x2x4xf32>
  %8 = nn.concat %7, %4 {axis = 3 : i64} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x4x2x8xf32>
  %9 = nn.mul %8, %3 : tensor<2x4x2x8xf32>
  %10 = nn.add %6, %9 : tensor<2x4x2x8xf32>
  return %10 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @rotates_in_the_layout_of_nn
// CHECK-DAG: %[[C:.*]] = nn.reshape %arg1 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
// CHECK-DAG: %[[S:.*]] = nn.reshape %arg2 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
// CHECK: %[[Y:.*]] = nn.rope %arg0, %[[C]], %[[S]] :
// CHECK-NEXT: return %[[Y]]
func.func @rotates_in_the_layout_of_nn(%x: tensor<2x4x2x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %1 = nn.broadcast %0 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %2 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x4x1x8xf32>
  %3 = nn.broadcast %2 : (tensor<1x4x1x8xf32>) -> tensor<2x4x2x8xf32>
  %4 = nn.slice %x [0, 0, 0, 0] to [2, 4, 2, 4] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %5 = nn.slice %x [0, 0, 0, 4] to [2, 4, 2, 8] by [1, 1, 1, 1] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4xf32>
  %6 = nn.mul %x, %1 : tensor<2x4x2x8xf32>
  %7 = nn.constant dense<-1.0> : tensor<2x4x2x4xf32>
  %8 = nn.mul %5, %7 : tensor<2x4x2x4xf32>
  %9 = nn.concat %8, %4 {axis = 3 : i64} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x4x2x8xf32>
  %10 = nn.mul %9, %3 : tensor<2x4x2x8xf32>
  %11 = nn.add %6, %10 : tensor<2x4x2x8xf32>
  return %11 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @positions_of_each_sample
// CHECK-NEXT: %[[Y:.*]] = nn.rope %arg0, %arg1, %arg2 :
// CHECK-NEXT: return %[[Y]]
func.func @positions_of_each_sample(%x: tensor<2x4x2x8xf32>, %cos: tensor<2x4x8xf32>, %sin: tensor<2x4x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.reshape %cos : (tensor<2x4x8xf32>) -> tensor<2x1x4x8xf32>
  %2 = nn.broadcast %1 : (tensor<2x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %sin : (tensor<2x4x8xf32>) -> tensor<2x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<2x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %5 = nn.slice %0 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.slice %0 [0, 0, 0, 4] to [2, 2, 4, 8] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %7 = nn.mul %0, %2 : tensor<2x2x4x8xf32>
  %8 = nn.neg %6 : tensor<2x2x4x4xf32>
  %9 = nn.concat %8, %5 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x8xf32>
  %10 = nn.mul %9, %4 : tensor<2x2x4x8xf32>
  %11 = nn.add %7, %10 : tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @halves_written_out_with_tables_of_half_the_width
// CHECK: nn.rope %arg0, %{{.*}}, %{{.*}} : (tensor<2x4x2x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
// CHECK-NEXT: return
func.func @halves_written_out_with_tables_of_half_the_width(%x: tensor<2x4x2x8xf32>, %cos: tensor<4x4xf32>, %sin: tensor<4x4xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.reshape %cos : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
  %2 = nn.broadcast %1 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %3 = nn.reshape %sin : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
  %4 = nn.broadcast %3 : (tensor<1x1x4x4xf32>) -> tensor<2x2x4x4xf32>
  %5 = nn.slice %0 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.slice %0 [0, 0, 0, 4] to [2, 2, 4, 8] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %7 = nn.mul %5, %2 : tensor<2x2x4x4xf32>
  %8 = nn.mul %6, %4 : tensor<2x2x4x4xf32>
  %9 = nn.sub %7, %8 : tensor<2x2x4x4xf32>
  %10 = nn.mul %5, %4 : tensor<2x2x4x4xf32>
  %11 = nn.mul %6, %2 : tensor<2x2x4x4xf32>
  %12 = nn.add %10, %11 : tensor<2x2x4x4xf32>
  %13 = nn.concat %9, %12 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x8xf32>
  %14 = nn.transpose %13 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %14 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @neighbours_rotate_as_in_gptj
// CHECK-DAG: %[[C:.*]] = nn.reshape %arg1 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
// CHECK-DAG: %[[S:.*]] = nn.reshape %arg2 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
// CHECK: nn.rope %arg0, %[[C]], %[[S]] {interleaved}
// CHECK-NEXT: return
func.func @neighbours_rotate_as_in_gptj(%x: tensor<2x4x2x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %2 = nn.broadcast %1 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %5 = nn.slice %0 [0, 0, 0, 0] to [2, 2, 4, 8] by [1, 1, 1, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.slice %0 [0, 0, 0, 1] to [2, 2, 4, 8] by [1, 1, 1, 2] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %7 = nn.neg %6 : tensor<2x2x4x4xf32>
  %8 = nn.reshape %7 : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4x1xf32>
  %9 = nn.reshape %5 : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4x1xf32>
  %10 = nn.concat %8, %9 {axis = 4 : i64} : (tensor<2x2x4x4x1xf32>, tensor<2x2x4x4x1xf32>) -> tensor<2x2x4x4x2xf32>
  %11 = nn.reshape %10 : (tensor<2x2x4x4x2xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.mul %0, %2 : tensor<2x2x4x8xf32>
  %13 = nn.mul %11, %4 : tensor<2x2x4x8xf32>
  %14 = nn.add %12, %13 : tensor<2x2x4x8xf32>
  %15 = nn.transpose %14 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %15 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @neighbours_as_pairs_written_out
// CHECK: nn.rope %arg0, %{{.*}}, %{{.*}} {interleaved}
// CHECK-NEXT: return
func.func @neighbours_as_pairs_written_out(%x: tensor<2x4x2x8xf32>, %cos: tensor<4x4xf32>, %sin: tensor<4x4xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.reshape %x : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x4x2xf32>
  %1 = nn.reshape %cos : (tensor<4x4xf32>) -> tensor<1x4x1x4xf32>
  %2 = nn.broadcast %1 : (tensor<1x4x1x4xf32>) -> tensor<2x4x2x4xf32>
  %3 = nn.reshape %sin : (tensor<4x4xf32>) -> tensor<1x4x1x4xf32>
  %4 = nn.broadcast %3 : (tensor<1x4x1x4xf32>) -> tensor<2x4x2x4xf32>
  %5 = nn.slice %0 [0, 0, 0, 0, 0] to [2, 4, 2, 4, 1] by [1, 1, 1, 1, 1] : (tensor<2x4x2x4x2xf32>) -> tensor<2x4x2x4x1xf32>
  %6 = nn.reshape %5 : (tensor<2x4x2x4x1xf32>) -> tensor<2x4x2x4xf32>
  %7 = nn.slice %0 [0, 0, 0, 0, 1] to [2, 4, 2, 4, 2] by [1, 1, 1, 1, 1] : (tensor<2x4x2x4x2xf32>) -> tensor<2x4x2x4x1xf32>
  %8 = nn.reshape %7 : (tensor<2x4x2x4x1xf32>) -> tensor<2x4x2x4xf32>
  %9 = nn.mul %6, %2 : tensor<2x4x2x4xf32>
  %10 = nn.mul %8, %4 : tensor<2x4x2x4xf32>
  %11 = nn.sub %9, %10 : tensor<2x4x2x4xf32>
  %12 = nn.mul %6, %4 : tensor<2x4x2x4xf32>
  %13 = nn.mul %8, %2 : tensor<2x4x2x4xf32>
  %14 = nn.add %12, %13 : tensor<2x4x2x4xf32>
  %15 = nn.reshape %11 : (tensor<2x4x2x4xf32>) -> tensor<2x4x2x4x1xf32>
  %16 = nn.reshape %14 : (tensor<2x4x2x4xf32>) -> tensor<2x4x2x4x1xf32>
  %17 = nn.concat %15, %16 {axis = 4 : i64} : (tensor<2x4x2x4x1xf32>, tensor<2x4x2x4x1xf32>) -> tensor<2x4x2x4x2xf32>
  %18 = nn.reshape %17 : (tensor<2x4x2x4x2xf32>) -> tensor<2x4x2x8xf32>
  return %18 : tensor<2x4x2x8xf32>
}

// CHECK-LABEL: @part_of_the_head_rotates
// CHECK: nn.rope %{{.*}} : (tensor<2x4x2x8xf32>
// CHECK: nn.concat
func.func @part_of_the_head_rotates(%x: tensor<2x4x2x12xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>) -> tensor<2x4x2x12xf32> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x4x2x12xf32>) -> tensor<2x2x4x12xf32>
  %1 = nn.slice %0 [0, 0, 0, 0] to [2, 2, 4, 8] by [1, 1, 1, 1] : (tensor<2x2x4x12xf32>) -> tensor<2x2x4x8xf32>
  %2 = nn.slice %0 [0, 0, 0, 8] to [2, 2, 4, 12] by [1, 1, 1, 1] : (tensor<2x2x4x12xf32>) -> tensor<2x2x4x4xf32>
  %3 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %5 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %6 = nn.broadcast %5 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %7 = nn.slice %1 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %8 = nn.slice %1 [0, 0, 0, 4] to [2, 2, 4, 8] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %9 = nn.mul %1, %4 : tensor<2x2x4x8xf32>
  %10 = nn.neg %8 : tensor<2x2x4x4xf32>
  %11 = nn.concat %10, %7 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x8xf32>
  %12 = nn.mul %11, %6 : tensor<2x2x4x8xf32>
  %13 = nn.add %9, %12 : tensor<2x2x4x8xf32>
  %14 = nn.concat %13, %2 {axis = 3 : i64} : (tensor<2x2x4x8xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x12xf32>
  %15 = nn.transpose %14 [0, 2, 1, 3] : (tensor<2x2x4x12xf32>) -> tensor<2x4x2x12xf32>
  return %15 : tensor<2x4x2x12xf32>
}

// CHECK-LABEL: @another_sign_is_no_rotation
// CHECK-NOT: nn.rope
// CHECK: return
func.func @another_sign_is_no_rotation(%x: tensor<2x4x2x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>) -> tensor<2x4x2x8xf32> {
  %0 = nn.transpose %x [0, 2, 1, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x2x4x8xf32>
  %1 = nn.reshape %cos : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %2 = nn.broadcast %1 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %3 = nn.reshape %sin : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
  %4 = nn.broadcast %3 : (tensor<1x1x4x8xf32>) -> tensor<2x2x4x8xf32>
  %5 = nn.slice %0 [0, 0, 0, 0] to [2, 2, 4, 4] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %6 = nn.slice %0 [0, 0, 0, 4] to [2, 2, 4, 8] by [1, 1, 1, 1] : (tensor<2x2x4x8xf32>) -> tensor<2x2x4x4xf32>
  %7 = nn.mul %0, %2 : tensor<2x2x4x8xf32>
  %8 = nn.neg %5 : tensor<2x2x4x4xf32>
  %9 = nn.concat %6, %8 {axis = 3 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x8xf32>
  %10 = nn.mul %9, %4 : tensor<2x2x4x8xf32>
  %11 = nn.add %7, %10 : tensor<2x2x4x8xf32>
  %12 = nn.transpose %11 [0, 2, 1, 3] : (tensor<2x2x4x8xf32>) -> tensor<2x4x2x8xf32>
  return %12 : tensor<2x4x2x8xf32>
}
