// What the ops of fsdp check of themselves.
// RUN: shardc-opt %s --split-input-file --verify-diagnostics | shardc-opt --split-input-file | FileCheck %s

// A sound unit: a slice's boundary falls into padding, and 11 elements lie after the last parameter. Gathered in bf16, updated in f32, and in finer
// slices than it is sharded in.
// CHECK: fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], optimizer_dims = array<i64: 1, 0>, shard_dims = array<i64: 1>, strategy = "hybrid_opt"}
// CHECK: fsdp.group @shard {size = 2 : i64, stride = 1 : i64}
// CHECK: fsdp.unit @u {element_type = bf16, elements = 32 : i64, gradient_type = f32, master_type = f32, {{.*}}optimizer_shards = 4 : i64
// CHECK-LABEL: func.func @round_trips
// CHECK: fsdp.all_gather_start @u forward over @shard
// CHECK: fsdp.keep @u(%{{.*}}, %{{.*}}) over @shard : (tensor<2x4xbf16>, tensor<3xbf16>) -> tensor<16xbf16>
// CHECK: fsdp.all_gather_start @u backward over @shard from %{{.*}} : tensor<16xbf16>
// CHECK: fsdp.reduce_scatter_start @u %{{.*}} over @shard : tensor<32xf32>
// CHECK: fsdp.accumulate %{{.*}} in f64 : tensor<16xf32>
// CHECK: fsdp.reduce_scatter_start @u %{{.*}} over @replicate last : tensor<16xf32>
// CHECK: fsdp.all_reduce_gradients_start @u %{{.*}} over @replicate last : tensor<16xf32>
// CHECK: fsdp.gradient_norm %{{.*}} : (tensor<8xf32>) -> tensor<68xi64>
// CHECK: fsdp.exact_sum %{{.*}} : tensor<f64> -> tensor<68xi64>
// CHECK: fsdp.all_reduce_start optimizer(%{{.*}}, %{{.*}}) over @shard {norms = array<i1: false, true>} : tensor<68xi64>, tensor<68xi64>
// CHECK: fsdp.all_gather_updates_start @u over @replicate
// CHECK: fsdp.all_gather_updates_wait
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<2x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = bf16, trainable}
nn.parameter @v : tensor<3xbf16> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = bf16, trainable}
fsdp.unit @u {parameters = [@w, @v], offsets = array<i64: 0, 18>, elements = 32, padding = 21, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @round_trips(%x: tensor<2x4xf32>, %y: tensor<3xf32>, %l: tensor<f64>) {
  %t = fsdp.all_gather_start @u forward over @shard
  %w:2 = fsdp.all_gather_wait %t : tensor<2x4xbf16>, tensor<3xbf16>
  %k = fsdp.keep @u(%w#0, %w#1) over @shard : (tensor<2x4xbf16>, tensor<3xbf16>) -> tensor<16xbf16>
  fsdp.release @u(%w#0, %w#1) : tensor<2x4xbf16>, tensor<3xbf16>
  %t2 = fsdp.all_gather_start @u backward over @shard from %k : tensor<16xbf16>
  %w2:2 = fsdp.all_gather_wait %t2 : tensor<2x4xbf16>, tensor<3xbf16>
  %f = fsdp.flat_gradients @u(%x, %y) : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<32xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<32xf32>
  %g = fsdp.reduce_scatter_wait %s : tensor<16xf32>
  %a = fsdp.accumulate %g in f64 : tensor<16xf32>
  %s2 = fsdp.reduce_scatter_start @u %a over @replicate last : tensor<16xf32>
  %g2 = fsdp.reduce_scatter_wait %s2 : tensor<8xf32>
  %s3 = fsdp.all_reduce_gradients_start @u %a over @replicate last : tensor<16xf32>
  %g3 = fsdp.all_reduce_gradients_wait %s3 : tensor<16xf32>
  %n = fsdp.gradient_norm %g2 : (tensor<8xf32>) -> tensor<68xi64>
  %e_l = fsdp.exact_sum %l : tensor<f64> -> tensor<68xi64>
  %r = fsdp.all_reduce_start optimizer(%e_l, %n) over @shard {norms = array<i1: false, true>} : tensor<68xi64>, tensor<68xi64>
  %sums:2 = fsdp.all_reduce_wait %r : tensor<68xi64>, tensor<68xi64>
  %f_sums1 = fsdp.round_sum %sums#1 norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g2, %f_sums1) "adamw" : tensor<8xf32>, tensor<f64>
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  return
}

// -----

// expected-error @below {{expects at least one dimension}}
fsdp.mesh @mesh {dims = array<i64>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "full"}

// -----

// expected-error @below {{expects one name per dimension: 2 dimensions, 1 names}}
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}

// -----

// expected-error @below {{expects dimensions of at least 1, got 0}}
fsdp.mesh @mesh {dims = array<i64: 0>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}

// -----

// expected-error @below {{has more ranks than 64 bits can count}}
fsdp.mesh @mesh {dims = array<i64: 4294967296, 4294967296>, names = ["replicate", "shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}

// -----

// expected-error @below {{expects shard_dims to be different dimensions within [0, 1), got 1}}
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>, strategy = "full"}

// -----

// expected-error @below {{expects shard_dims to be different dimensions within [0, 1), got -1}}
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: -1>, optimizer_dims = array<i64: -1>, strategy = "full"}

// -----

// expected-error @below {{expects optimizer_dims to be different dimensions within [0, 2), got 1}}
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 1>, strategy = "full"}

// -----

// expected-error @below {{expects optimizer_dims to begin with shard_dims: an optimizer slice lies inside the parameters' slice}}
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 0, 1>, strategy = "full"}

// -----

// expected-error @below {{expects at least 2 ranks at a stride of 1 or more, got 1 at 1}}
fsdp.group @g {stride = 1 : i64, size = 1 : i64}

// -----

// expected-error @below {{expects at least 2 ranks at a stride of 1 or more, got 2 at 0}}
fsdp.group @g {stride = 0 : i64, size = 2 : i64}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{refers to @v, which is no nn.parameter}}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{lists @w twice}}
fsdp.unit @u {parameters = [@w, @w], offsets = array<i64: 0, 16>, elements = 32, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<3xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects @v to begin at 16 or later, where the parameter before it ends, got 15}}
fsdp.unit @u {parameters = [@w, @v], offsets = array<i64: 0, 15>, elements = 20, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{cuts a row of @w: it begins at 0 with rows of 4 elements, slices have 6}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 18, padding = 2, shards = 3, optimizer_shards = 3, reshard = 3,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

// The optimizer's slices are finer than those of the parameters, and cut no row either.
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{cuts a row of @w: it begins at 0 with rows of 4 elements, slices have 2}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 8, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects @w to end within 16 elements, got 18}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 2>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects padding 2, got 1}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 18, padding = 1, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects float types, got 'i32'}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = i32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects float types, got 'i32'}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = i32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects float types, got 'i32'}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = i32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects at least 1 shard, got 0}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 0, optimizer_shards = 0, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects optimizer_shards to be 0 or a multiple of its 2 shards, got 3}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 3, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects optimizer_shards to be 0 or a multiple of its 2 shards, got -2}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = -2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects elements to be a positive multiple of its 3 shards, got 16}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 3, optimizer_shards = 3, reshard = 3,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects elements to be a positive multiple of its 6 shards, got 16}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 6, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects elements to be a positive multiple of its 2 shards, got 0}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 0, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects reshard to divide its 4 shards, got 3}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 3,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{stays gathered over micro-batches: expects reshard 1, got 2}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = "", stays}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects reshard to divide its 2 shards, got 0}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 0,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects one offset per parameter: 1 parameters, 2 offsets}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0, 1>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
