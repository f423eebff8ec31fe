// RUN: shardc-opt %s --fsdp-form-units="mesh=2 align=4" | FileCheck %s

// What is stacked lies one behind the other, in the order in which it is read, and slices have whole rows of it.
// CHECK: fsdp.unit @u {element_type = f32, elements = 80 : i64, gradient_type = f32, master_type = f32, offsets = array<i64: 0, 8, 40, 72>,
// CHECK-SAME: parameters = [@k, @q, @other, @norm]
nn.parameter @q : tensor<8x4xf32> {trainable, nn.unit = "u", initializer = "q", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32}
nn.parameter @other : tensor<8x4xf32> {trainable, nn.unit = "u", initializer = "other", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32}
nn.parameter @k : tensor<2x4xf32> {trainable, nn.unit = "u", initializer = "k", file = "", offset = 0 : i64, length = 32 : i64, stored_type = f32}
nn.parameter @norm : tensor<4xf32> {trainable, nn.unit = "u", initializer = "norm", file = "", offset = 0 : i64, length = 16 : i64, stored_type = f32}
func.func @model(%x: tensor<3x4xf32>) -> tensor<3x8xf32> {
  %q = nn.get_parameter @q : tensor<8x4xf32>
  %other = nn.get_parameter @other : tensor<8x4xf32>
  %k = nn.get_parameter @k : tensor<2x4xf32>
  %norm = nn.get_parameter @norm : tensor<4xf32>
  %row = nn.reshape %norm : (tensor<4xf32>) -> tensor<1x4xf32>
  %0 = nn.broadcast %row : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = nn.mul %x, %0 : tensor<3x4xf32>
  %2 = nn.stacked_linear %1 weights(%k, %q) {transpose_weight} : (tensor<3x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<3x10xf32>
  %3 = nn.linear %1, %other {transpose_weight} : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<3x8xf32>
  return %3 : tensor<3x8xf32>
}
