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
// CHECK: fsdp.gradient_norm %{{.*}} {slices = array<i64: 1>} : (tensor<8xf32>) -> tensor<f64>
// CHECK: fsdp.all_reduce_start optimizer(%{{.*}}, %{{.*}}) over @shard {norms = array<i1: false, true>} : tensor<f64>, tensor<f64>
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
  %n = fsdp.gradient_norm %g2 {slices = array<i64: 1>} : (tensor<8xf32>) -> tensor<f64>
  %r = fsdp.all_reduce_start optimizer(%l, %n) over @shard {norms = array<i1: false, true>} : tensor<f64>, tensor<f64>
  %sums:2 = fsdp.all_reduce_wait %r : tensor<f64>, tensor<f64>
  fsdp.optimizer_step @u(%g2, %sums#1) "adamw" : tensor<8xf32>, tensor<f64>
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
// expected-error @below {{expects reshard to divide its 2 shards, got 0}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 0,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{expects one offset per parameter: 1 parameters, 2 offsets}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0, 1>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @names_a_unit(%x: tensor<4x4xf32>) {
  // expected-error @below {{refers to @w, which is no fsdp.unit}}
  %t = fsdp.all_gather_start @w forward over @world
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @names_a_group(%x: tensor<4x4xf32>) {
  // expected-error @below {{runs over @u, which is no fsdp.group}}
  %t = fsdp.all_gather_start @u forward over @u
  return
}

// -----

fsdp.group @four {stride = 1 : i64, size = 4 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_all_shards(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects a group of 2 ranks, one per shard of @u, got 4}}
  %t = fsdp.all_gather_start @u forward over @four
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_what_was_kept(%k: tensor<16xf32>) {
  // expected-error @below {{expects what was kept to be 'tensor<8xf32>', got 'tensor<16xf32>'}}
  %t = fsdp.all_gather_start @u backward over @world from %k : tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_every_parameter(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-error @below {{expects 1 tensors, one per parameter of @u, got 2}}
  %w:2 = fsdp.all_gather_wait %t : tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_the_parameter_s_type(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-error @below {{expects result 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<2x8xf32>'}}
  %w = fsdp.all_gather_wait %t : tensor<2x8xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_the_unit_s_type(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-error @below {{expects result 0 (of @w) to be 'tensor<4x4xbf16>', got 'tensor<4x4xf32>'}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_by_its_own_start(%f: tensor<16xf32>) {
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the token of fsdp.all_gather_start}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_by_its_own_start(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-error @below {{expects the token of fsdp.reduce_scatter_start}}
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_by_its_own_start(%f: tensor<16xf32>) {
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the token of fsdp.all_reduce_gradients_start}}
  %g = fsdp.all_reduce_gradients_wait %t : tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @sums_by_its_own_start(%f: tensor<16xf32>) {
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the token of fsdp.all_reduce_start}}
  %g = fsdp.all_reduce_wait %t : tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_by_its_own_start(%f: tensor<16xf32>) {
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the token of fsdp.all_gather_updates_start}}
  fsdp.all_gather_updates_wait %t
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @is_resident_only_where_whole(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects a unit of 1 shard, got 2; gather it}}
  %w = fsdp.resident @u : tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @is_resident_with_every_parameter(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects 1 tensors, one per parameter of @u, got 0}}
  "fsdp.resident"() {unit = @u} : () -> ()
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_the_unit_s_tensors(%x: tensor<16xf32>) {
  // expected-error @below {{expects operand 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<16xf32>'}}
  %k = fsdp.keep @u(%x) over @world : (tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_over_a_group(%x: tensor<4x4xf32>) {
  // expected-error @below {{runs over @w, which is no fsdp.group}}
  %k = fsdp.keep @u(%x) over @w : (tensor<4x4xf32>) -> tensor<8xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_the_rank_s_slice(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects what is kept to be 'tensor<8xf32>', got 'tensor<16xf32>'}}
  %k = fsdp.keep @u(%x) over @world : (tensor<4x4xf32>) -> tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @releases_the_unit_s_tensors(%x: tensor<16xf32>) {
  // expected-error @below {{expects operand 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<16xf32>'}}
  fsdp.release @u(%x) : tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @takes_gradients_of_the_parameter_s_shape(%x: tensor<16xf32>) {
  // expected-error @below {{expects gradient 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<16xf32>'}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @takes_gradients_of_the_gradient_type(%x: tensor<4x4xbf16>) {
  // expected-error @below {{expects gradient 0 (of @w) to be 'tensor<4x4xf32>', got 'tensor<4x4xbf16>'}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xbf16>) -> tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @lays_all_gradients_out(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects the flat gradient to be 'tensor<16xf32>', got 'tensor<8xf32>'}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<8xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_a_slice(%f: tensor<12xf32>) {
  // expected-error @below {{expects the flat gradient to be a slice of 16 x 'f32', got 'tensor<12xf32>'}}
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<12xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_what_is_flat(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects the flat gradient to be a slice of 16 x 'f32', got 'tensor<4x4xf32>'}}
  %t = fsdp.reduce_scatter_start @u %x over @world : tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_the_gradient_type(%f: tensor<16xbf16>) {
  // expected-error @below {{expects the flat gradient to be a slice of 16 x 'f32', got 'tensor<16xbf16>'}}
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<16xbf16>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_equal_slices(%f: tensor<1xf32>) {
  // expected-error @below {{expects a multiple of the group's 2 ranks, got 1 elements}}
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<1xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_over_a_group(%f: tensor<16xf32>) {
  // expected-error @below {{runs over @w, which is no fsdp.group}}
  %t = fsdp.reduce_scatter_start @u %f over @w : tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_a_shard(%f: tensor<16xf32>) {
  %t = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the shard to be 'tensor<8xf32>', got 'tensor<16xf32>'}}
  %g = fsdp.reduce_scatter_wait %t : tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_a_slice(%f: tensor<12xf32>) {
  // expected-error @below {{expects the flat gradient to be a slice of 16 x 'f32', got 'tensor<12xf32>'}}
  %t = fsdp.all_reduce_gradients_start @u %f over @world : tensor<12xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_over_a_group(%f: tensor<16xf32>) {
  // expected-error @below {{runs over @w, which is no fsdp.group}}
  %t = fsdp.all_reduce_gradients_start @u %f over @w : tensor<16xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_the_whole_sum(%f: tensor<16xf32>) {
  %t = fsdp.all_reduce_gradients_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the sum to be 'tensor<16xf32>', got 'tensor<8xf32>'}}
  %g = fsdp.all_reduce_gradients_wait %t : tensor<8xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accumulates_what_it_sums(%f: tensor<16xf32>) {
  // expected-error @below {{failed to verify that all of {value, sum} have same type}}
  %g = "fsdp.accumulate"(%f) {accumulator_type = f32} : (tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @measures_in_float64(%x: tensor<8xf32>) {
  // expected-error @below {{expects the result to be tensor<f64>, got 'tensor<f32>'}}
  %n = fsdp.gradient_norm %x {slices = array<i64: 1>} : (tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @adds_equal_slices(%x: tensor<8xf32>) {
  // expected-error @below {{expects operand 0 to be one-dimensional and a multiple of 6 slices, got 'tensor<8xf32>'}}
  %n = fsdp.gradient_norm %x {slices = array<i64: 2, 3>} : (tensor<8xf32>) -> tensor<f64>
  return
}

// -----

func.func @adds_flat_gradients(%x: tensor<8xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{expects operand 1 to be one-dimensional and a multiple of 2 slices, got 'tensor<2x4xf32>'}}
  %n = fsdp.gradient_norm %x, %y {slices = array<i64: 2>} : (tensor<8xf32>, tensor<2x4xf32>) -> tensor<f64>
  return
}

// -----

func.func @adds_slices(%x: tensor<8xf32>) {
  // expected-error @below {{expects at least 1 slice, got 0}}
  %n = fsdp.gradient_norm %x {slices = array<i64: 0>} : (tensor<8xf32>) -> tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
func.func @reduces_one_element_type(%x: tensor<f32>, %y: tensor<f64>) {
  // expected-error @below {{expects values of one element type, got 'tensor<f32>' and 'tensor<f64>'}}
  %t = fsdp.all_reduce_start optimizer(%x, %y) over @world {norms = array<i1: false, false>} : tensor<f32>, tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
func.func @knows_which_values_are_norms(%x: tensor<f64>, %y: tensor<f64>) {
  // expected-error @below {{expects to know of each of 2 values whether it is a norm, got 1}}
  %t = fsdp.all_reduce_start optimizer(%x, %y) over @world {norms = array<i1: false>} : tensor<f64>, tensor<f64>
  return
}

// -----

nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
func.func @sums_over_a_group(%x: tensor<f64>) {
  // expected-error @below {{runs over @w, which is no fsdp.group}}
  %t = fsdp.all_reduce_start optimizer(%x) over @w {norms = array<i1: false>} : tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
func.func @gives_a_sum_per_value(%x: tensor<f64>) {
  %t = fsdp.all_reduce_start optimizer(%x) over @world {norms = array<i1: false>} : tensor<f64>
  // expected-error @below {{expects one sum per value of its start, of the same types}}
  %s:2 = fsdp.all_reduce_wait %t : tensor<f64>, tensor<f64>
  return
}

// -----

func.func @reports_scalars(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects a float tensor of no dims, got 'tensor<4x4xf32>'}}
  fsdp.report "loss" %x : tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @knows_its_optimizers(%x: tensor<8xf32>, %n: tensor<f64>) {
  // expected-error @below {{expects kind adamw, adam or sgd, got lion}}
  fsdp.optimizer_step @u(%x, %n) "lion" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @clips_by_a_float64(%x: tensor<8xf32>, %n: tensor<f32>) {
  // expected-error @below {{expects the norm to be tensor<f64>, got 'tensor<f32>'}}
  fsdp.optimizer_step @u(%x, %n) "adamw" : tensor<8xf32>, tensor<f32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 0, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_no_frozen_unit(%x: tensor<8xf32>, %n: tensor<f64>) {
  // expected-error @below {{updates @u, which is frozen}}
  fsdp.optimizer_step @u(%x, %n) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_the_optimizer_s_slice(%x: tensor<8xf32>, %n: tensor<f64>) {
  // expected-error @below {{expects the gradient to be 'tensor<4xf32>', got 'tensor<8xf32>'}}
  fsdp.optimizer_step @u(%x, %n) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 32, padding = 16, shards = 2, optimizer_shards = 8, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_updates_of_all_slices() {
  // expected-error @below {{expects a group that makes 8 optimizer slices into 2 of parameters, got 2 ranks}}
  %t = fsdp.all_gather_updates_start @u over @world
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_updates_over_a_group() {
  // expected-error @below {{runs over @w, which is no fsdp.group}}
  %t = fsdp.all_gather_updates_start @u over @w
  return
}
