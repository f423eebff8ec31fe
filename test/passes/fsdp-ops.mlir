// What the ops of fsdp check of themselves.
// RUN: shardc-opt %s --split-input-file --verify-diagnostics | shardc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @round_trips
// CHECK: fsdp.all_gather_start @u backward

// A sound unit: the boundary at 10 falls into padding, 4 elements lie after it.
nn.parameter @w : tensor<2x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<3xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w, @v], offsets = array<i64: 0, 10>, elements = 20, padding = 9, shards = 2, element_type = f32, reason = ""}
func.func @round_trips(%x: tensor<2x4xf32>, %y: tensor<3xf32>) {
  %t = fsdp.all_gather_start @u backward
  %w:2 = fsdp.all_gather_wait %t : tensor<2x4xf32>, tensor<3xf32>
  fsdp.release @u(%w#0, %w#1) : tensor<2x4xf32>, tensor<3xf32>
  %s = fsdp.reduce_scatter_start @u(%x, %y) : tensor<2x4xf32>, tensor<3xf32>
  %g = fsdp.reduce_scatter_wait %s : tensor<10xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{refers to @v, which is no nn.parameter}}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{lists @w twice}}
fsdp.unit @u {parameters = [@w, @w], offsets = array<i64: 0, 16>, elements = 32, padding = 0, shards = 2, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<3xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects @v to begin at 16 or later, where the parameter before it ends, got 15}}
fsdp.unit @u {parameters = [@w, @v], offsets = array<i64: 0, 15>, elements = 20, padding = 0, shards = 1, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{cuts a row of @w: it begins at 0 with rows of 4 elements, slices have 6}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 18, padding = 2, shards = 3, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects @w to end within 16 elements, got 18}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 2>, elements = 16, padding = 0, shards = 1, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects padding 2, got 1}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 18, padding = 1, shards = 1, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects elements to be a positive multiple of its 3 shards, got 16}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 3, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects at least 1 shard, got 0}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 0, element_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects one offset per parameter: 1 parameters, 2 offsets}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0, 1>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}

// -----

// expected-error @below {{expects dimensions of at least 1, got 0}}
fsdp.mesh @mesh {dims = array<i64: 0>, shard_dims = array<i64: 0>, strategy = "full"}

// -----

// expected-error @below {{has more ranks than 64 bits can count}}
fsdp.mesh @mesh {dims = array<i64: 4294967296, 4294967296>, shard_dims = array<i64: 0>, strategy = "full"}

// -----

// expected-error @below {{expects shard_dims to ascend within [0, 1), got 1}}
fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 1>, strategy = "full"}

// -----

// expected-error @below {{expects strategy full or none, got half}}
fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "half"}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @names_a_unit(%x: tensor<4x4xf32>) {
  // expected-error @below {{refers to @w, which is no fsdp.unit}}
  %t = fsdp.all_gather_start @w forward
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @gathers_every_parameter(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  // expected-error @below {{expects 1 tensors, one per parameter of @u, got 2}}
  %w:2 = fsdp.all_gather_wait %t : tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @gathers_the_parameter_s_type(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  // expected-error @below {{expects result 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<2x8xf32>'}}
  %w = fsdp.all_gather_wait %t : tensor<2x8xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @waits_for_its_own_kind(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  // expected-error @below {{expects the token of fsdp.all_gather_start}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @is_resident_only_where_whole(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects a unit of 1 shard, got 2; gather it}}
  %w = fsdp.resident @u : tensor<4x4xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @keeps_a_shard(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  // expected-error @below {{expects the shard to be 'tensor<8xf32>', got 'tensor<16xf32>'}}
  %w = fsdp.reduce_scatter_wait %t : tensor<16xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @reduces_gradients_of_the_right_type(%x: tensor<16xf32>) {
  // expected-error @below {{expects gradient 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<16xf32>'}}
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<16xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @reduces_one_element_type(%x: tensor<f32>, %y: tensor<f64>) {
  // expected-error @below {{expects values of one element type, got 'tensor<f32>' and 'tensor<f64>'}}
  %t = fsdp.all_reduce_start optimizer(%x, %y) : tensor<f32>, tensor<f64>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @reports_scalars(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects a float tensor of no dims, got 'tensor<4x4xf32>'}}
  fsdp.report "loss" %x : tensor<4x4xf32>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @knows_its_optimizers(%x: tensor<8xf32>, %n: tensor<f64>) {
  // expected-error @below {{expects kind adamw, adam or sgd, got lion}}
  fsdp.optimizer_step @u(%x, %n) "lion" : tensor<8xf32>, tensor<f64>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @adds_equal_slices(%x: tensor<8xf32>) {
  // expected-error @below {{expects operand 0 to be one-dimensional and a multiple of 3 slices, got 'tensor<8xf32>'}}
  %n = fsdp.squared_norm %x {slices = 3 : i64} : (tensor<8xf32>) -> tensor<f64>
  return
}
