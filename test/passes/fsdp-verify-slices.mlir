// What fsdp-verify says of collectives that have the right sizes, over the wrong ranks or in the wrong order.
// RUN: shardc-opt %s --fsdp-verify --split-input-file --verify-diagnostics

// Two scatters that make the slices of one over all ranks: the outer dimension first.
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 0, 1>, optimizer_dims = array<i64: 0, 1>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 4,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_the_outer_dimension_first(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @replicate : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @shard last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<4xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 0, 1>, optimizer_dims = array<i64: 0, 1>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 4,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_in_the_order_of_the_slices(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects the gradient's slice of @u that the rank's optimizer has; it was scattered over other groups, or in another order, than the mesh's optimizer_dims}}
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<4xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_the_inner_dimension_first(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<4xf32>, tensor<f64>
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_first_what_parameters_are_cut_over(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @replicate : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @shard last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects the gradient's slice of @u that the rank's optimizer has; it was scattered over other groups, or in another order, than the mesh's optimizer_dims}}
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<4xf32>, tensor<f64>
  return
}

// -----

// As many slices and as many ranks as hybrid has, but slices of the other dimension.
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>, strategy = "hybrid"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @scatters_over_the_dimension_of_the_slices(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @replicate : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.all_reduce_gradients_start @u %g over @shard last : tensor<8xf32>
  %h = fsdp.all_reduce_gradients_wait %s2 : tensor<8xf32>
  %n = fsdp.gradient_norm %h : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects the gradient's slice of @u that the rank's optimizer has; it was scattered over other groups, or in another order, than the mesh's optimizer_dims}}
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>, strategy = "hybrid"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_over_the_dimension_of_the_slices(%x: tensor<4x4xf32>) {
  // expected-error @below {{gathers @u over @replicate, whose ranks are not those of the mesh's shard_dims}}
  %t = fsdp.all_gather_start @u forward over @replicate
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_updates_over_the_dimension_of_the_slices(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<4xf32>, tensor<f64>
  // expected-error @below {{gathers updates of @u over @shard, whose ranks are not those of the mesh's optimizer_dims behind shard_dims}}
  %q = fsdp.all_gather_updates_start @u over @shard
  fsdp.all_gather_updates_wait %q
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 0, 1>, optimizer_dims = array<i64: 0, 1>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @t {parameters = [@v], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_what_was_kept_of_the_unit(%x: tensor<4x4xf32>, %other: tensor<8xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{it comes from here}}
  %k = fsdp.keep @u(%w) over @shard : (tensor<4x4xf32>) -> tensor<8xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{gathers @t over @shard from what is no fsdp.keep of it over them}}
  %t2 = fsdp.all_gather_start @t backward over @shard from %k : tensor<8xf32>
  %w2 = fsdp.all_gather_wait %t2 : tensor<4x4xf32>
  fsdp.release @t(%w2) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 0, 1>, optimizer_dims = array<i64: 0, 1>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @t {parameters = [@v], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_what_was_kept_over_the_group(%x: tensor<4x4xf32>, %other: tensor<8xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{it comes from here}}
  %k = fsdp.keep @u(%w) over @shard : (tensor<4x4xf32>) -> tensor<8xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{gathers @u over @replicate from what is no fsdp.keep of it over them}}
  %t2 = fsdp.all_gather_start @u backward over @replicate from %k : tensor<8xf32>
  %w2 = fsdp.all_gather_wait %t2 : tensor<4x4xf32>
  fsdp.release @u(%w2) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 0, 1>, optimizer_dims = array<i64: 0, 1>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<4x4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @t {parameters = [@v], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_what_was_kept(%x: tensor<4x4xf32>, %other: tensor<8xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{gathers @u over @shard from what is no fsdp.keep of it over them}}
  %t2 = fsdp.all_gather_start @u backward over @shard from %other : tensor<8xf32>
  %w2 = fsdp.all_gather_wait %t2 : tensor<4x4xf32>
  fsdp.release @u(%w2) : tensor<4x4xf32>
  return
}
