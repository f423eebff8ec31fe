// RUN: shardc-opt %s --fsdp-form-units=mesh=2 --split-input-file | FileCheck %s
// RUN: shardc-opt %s --fsdp-form-units="mesh=2 strategy=none" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s --fsdp-form-units=mesh=2x2 --split-input-file | FileCheck %s --check-prefix=TWO-D
// RUN: shardc-opt %s --fsdp-form-units=mesh=1 --split-input-file | FileCheck %s --check-prefix=ONE

// A repeated block is a unit; embedding, last norm and head are the root. The frozen table is in no unit.
//
// CHECK: fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
// CHECK: fsdp.unit @root {element_type = f32, elements = 72 : i64, offsets = array<i64: 0, 32, 64>, padding = 0 : i64,
// CHECK-SAME: parameters = [@embed.weight, @head.weight, @norm.weight], reason = "in no repeated block", shards = 2 : i64}
// CHECK: fsdp.unit @layers.0 {element_type = f32, elements = 24 : i64, offsets = array<i64: 0, 16>, padding = 4 : i64,
// CHECK-SAME: parameters = [@layers.0.proj.weight, @layers.0.norm.weight], reason = "block 0 of module list layers, which has 2"
// CHECK: fsdp.unit @layers.1
// CHECK-NOT: fsdp.unit
// NONE: fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64>, strategy = "none"}
// NONE: fsdp.unit @root {element_type = f32, elements = 72 : i64
// NONE-SAME: shards = 1
// TWO-D: fsdp.mesh @mesh {dims = array<i64: 2, 2>, shard_dims = array<i64: 0, 1>, strategy = "full"}
// TWO-D: fsdp.unit @root {{.*}} shards = 4
// ONE: fsdp.mesh @mesh {dims = array<i64: 1>, shard_dims = array<i64>, strategy = "full"}
// ONE: fsdp.unit @root {{.*}} shards = 1
nn.parameter @embed.weight : tensor<8x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.norm.weight : tensor<4xf32> {initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.0.proj.weight : tensor<4x4xf32> {initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.norm.weight : tensor<4xf32> {initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @layers.1.proj.weight : tensor<4x4xf32> {initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @norm.weight : tensor<8xf32> {initializer = "5", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @head.weight : tensor<8x4xf32> {initializer = "6", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @table : tensor<2x4xf32> {initializer = "7", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32}
func.func @model(%ids: tensor<2xi64>) -> tensor<2x8xf32> {
  %0 = nn.get_parameter @embed.weight : tensor<8x4xf32>
  %x0 = nn.embedding %0, %ids : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %t = nn.get_parameter @table : tensor<2x4xf32>
  %x1 = nn.add %x0, %t : tensor<2x4xf32>
  %1 = nn.get_parameter @layers.0.norm.weight : tensor<4xf32>
  %x2, %r2 = nn.rms_norm %x1, %1 {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %2 = nn.get_parameter @layers.0.proj.weight : tensor<4x4xf32>
  %x3 = nn.linear %x2, %2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = nn.get_parameter @layers.1.norm.weight : tensor<4xf32>
  %x4, %r4 = nn.rms_norm %x3, %3 {epsilon = 1.0e-5 : f64} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>)
  %4 = nn.get_parameter @layers.1.proj.weight : tensor<4x4xf32>
  %x5 = nn.linear %x4, %4 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %6 = nn.get_parameter @head.weight : tensor<8x4xf32>
  %x6 = nn.linear %x5, %6 {transpose_weight} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  %5 = nn.get_parameter @norm.weight : tensor<8xf32>
  %x7, %r7 = nn.rms_norm %x6, %5 {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>)
  return %x7 : tensor<2x8xf32>
}

// -----

// Without names, the sequence of shapes tells the blocks. The last 3 rows of 2 do not halve: a row of padding.
//
// CHECK: fsdp.unit @block.0 {{.*}} parameters = [@w0, @b0], reason = "block 0 of 2 with equal shapes, in order of use"
// CHECK: fsdp.unit @block.1 {{.*}} parameters = [@w1, @b1]
// CHECK: fsdp.unit @root {{.*}} padding = 2 : i64, parameters = [@w2]
nn.parameter @w0 : tensor<4x4xf32> {initializer = "0", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @b0 : tensor<4xf32> {initializer = "1", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w1 : tensor<4x4xf32> {initializer = "2", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @b1 : tensor<4xf32> {initializer = "3", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w2 : tensor<3x2xf32> {initializer = "4", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
func.func @model(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = nn.get_parameter @w0 : tensor<4x4xf32>
  %1 = nn.get_parameter @b0 : tensor<4xf32>
  %2 = nn.get_parameter @w1 : tensor<4x4xf32>
  %3 = nn.get_parameter @b1 : tensor<4xf32>
  %x1 = nn.linear %x, %0, %1 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %x2 = nn.linear %x1, %2, %3 : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = nn.get_parameter @w2 : tensor<3x2xf32>
  %h = nn.slice %x2 [0, 0] to [2, 2] by [1, 1] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %x3 = nn.linear %h, %4 {transpose_weight} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return %x2, %x3 : tensor<2x4xf32>, tensor<2x3xf32>
}
