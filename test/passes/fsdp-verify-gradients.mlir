// What fsdp-verify says of gradients: their reduction, their norm and the optimizer.
// RUN: shardc-opt %s --fsdp-verify --split-input-file --verify-diagnostics

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 0, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @makes_no_gradients_of_what_is_frozen(%x: tensor<4x4xf32>) {
  // expected-error @below {{makes gradients of @u, which is frozen}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @makes_gradients_once(%x: tensor<4x4xf32>) {
  // expected-note @below {{made here}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  // expected-error @below {{makes gradients of @u twice}}
  %f2 = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @adds_up_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  // expected-error @below {{adds gradients of @u over micro-batches a second time}}
  %g2 = fsdp.accumulate %g in f32 : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_the_unit_s_gradients(%x: tensor<4x4xf32>, %h: tensor<16xf32>) {
  // expected-note @below {{these}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  // expected-error @below {{expects the gradients of @u as far as they are reduced}}
  %s = fsdp.reduce_scatter_start @u %h over @world : tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_what_it_added_up(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  // expected-note @below {{these}}
  %g = fsdp.accumulate %f in f32 : tensor<16xf32>
  // expected-error @below {{expects the gradients of @u as far as they are reduced}}
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_nothing_twice_at_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  // expected-error @below {{expects the gradients of @u as far as they are reduced}}
  %s2 = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %r2 = fsdp.reduce_scatter_wait %s2 : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_every_micro_batch_that_is_not_added_up(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  // expected-error @below {{reduces gradients of the last micro-batch alone, before they are added up}}
  %s = fsdp.reduce_scatter_start @u %f over @world last : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_what_is_added_up_in_the_last_micro_batch(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %g = fsdp.accumulate %f in f32 : tensor<16xf32>
  // expected-error @below {{reduces gradients that are added up already in every micro-batch; expects 'last'}}
  %s = fsdp.reduce_scatter_start @u %g over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_what_it_reduces(%x: tensor<4x4xf32>) {
  // expected-error @below {{reduces gradients of @u, which no fsdp.optimizer_step uses}}
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-note @below {{updated here}}
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  // expected-error @below {{updates @u twice}}
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_by_the_unit_s_gradient(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  // expected-note @below {{the gradient comes from here}}
  %h = nn.constant dense<0.0> : tensor<8xf32>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects the reduced gradient of @u}}
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>, strategy = "hybrid"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_by_a_sum_over_all_ranks(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects a gradient summed over 4 ranks in 2 slices, got one summed over 2 ranks in 2}}
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_by_a_sum_over_all_micro_batches(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %n = fsdp.gradient_norm %r : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects a gradient that is added up over micro-batches ('accumulated', or fsdp.accumulate)}}
  fsdp.optimizer_step @u(%r, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_updates_after_the_step(%x: tensor<4x4xf32>) {
  // expected-error @below {{gathers updates of @u before its optimizer step}}
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %a2 = fsdp.all_reduce_start optimizer(%m) over @replicate {norms = array<i1: true>} : tensor<68xi64>
  %m2 = fsdp.all_reduce_wait %a2 : tensor<68xi64>
  %f_m2 = fsdp.round_sum %m2 norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m2) "adamw" : tensor<4xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_updates_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %a2 = fsdp.all_reduce_start optimizer(%m) over @replicate {norms = array<i1: true>} : tensor<68xi64>
  %m2 = fsdp.all_reduce_wait %a2 : tensor<68xi64>
  %f_m2 = fsdp.round_sum %m2 norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m2) "adamw" : tensor<4xf32>, tensor<f64>
  // expected-note @below {{gathered here}}
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  // expected-error @below {{gathers updates of @u twice}}
  %q2 = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q2
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_what_the_step_left_out(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %a2 = fsdp.all_reduce_start optimizer(%m) over @replicate {norms = array<i1: true>} : tensor<68xi64>
  %m2 = fsdp.all_reduce_wait %a2 : tensor<68xi64>
  %f_m2 = fsdp.round_sum %m2 norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{updates a part of the rank's slice of @u, which no all_gather_updates completes}}
  fsdp.optimizer_step @u(%h, %f_m2) "adamw" : tensor<4xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @v : tensor<2xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<2xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @z {parameters = [@w], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
// expected-error @below {{expects a reduction of the gradients of @z}}
func.func @reduces_every_unit(%x: tensor<2xf32>) {
  %fu = fsdp.flat_gradients @u(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %su = fsdp.reduce_scatter_start @u %fu over @world : tensor<2xf32>
  %ru = fsdp.reduce_scatter_wait %su : tensor<1xf32>
  %u = fsdp.accumulate %ru in f32 : tensor<1xf32>
  %n = fsdp.gradient_norm %u : (tensor<1xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%u, %f_m) "adamw" : tensor<1xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @v : tensor<2xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<2xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @z {parameters = [@w], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @clips_all_units_by_one_norm(%x: tensor<2xf32>) {
  %fu = fsdp.flat_gradients @u(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %su = fsdp.reduce_scatter_start @u %fu over @world : tensor<2xf32>
  %ru = fsdp.reduce_scatter_wait %su : tensor<1xf32>
  %u = fsdp.accumulate %ru in f32 : tensor<1xf32>
  %fz = fsdp.flat_gradients @z(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %sz = fsdp.reduce_scatter_start @z %fz over @world : tensor<2xf32>
  %rz = fsdp.reduce_scatter_wait %sz : tensor<1xf32>
  %z = fsdp.accumulate %rz in f32 : tensor<1xf32>
  %n = fsdp.gradient_norm %u, %z : (tensor<1xf32>, tensor<1xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %n2 = fsdp.gradient_norm %u : (tensor<1xf32>) -> tensor<68xi64>
  %a2 = fsdp.all_reduce_start optimizer(%n2) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m2 = fsdp.all_reduce_wait %a2 : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%u, %f_m) "adamw" : tensor<1xf32>, tensor<f64>
  %f_m2 = fsdp.round_sum %m2 norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects the norm that the other steps have}}
  fsdp.optimizer_step @z(%z, %f_m2) "adamw" : tensor<1xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @sums_the_norm_over_ranks(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  // expected-error @below {{expects a norm of gradients in 2 slices to be summed over as many ranks, got 1}}
  %f_n = fsdp.round_sum %n norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_n) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @sums_the_norm_over_all_slices(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  // expected-error @below {{expects a norm of gradients in 4 slices to be summed over as many ranks, got 2}}
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<4xf32>, tensor<f64>
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @sums_the_norm_as_a_norm(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  // expected-error @below {{sums value 0 as no norm, but clips by it}}
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: false>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "none"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @clips_by_a_norm(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %a = fsdp.accumulate %f in f32 : tensor<16xf32>
  %s = fsdp.all_reduce_gradients_start @u %a over @world last : tensor<16xf32>
  %g = fsdp.all_reduce_gradients_wait %s : tensor<16xf32>
  // expected-error @below {{expects the optimizer's norm to come from fsdp.round_sum norm}}
  %n = nn.constant dense<1.0> : tensor<f64>
  fsdp.optimizer_step @u(%g, %n) "adamw" : tensor<16xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @covers_every_gradient_by_the_norm(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  // expected-note @below {{this one is there 0 times}}
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  // expected-error @below {{expects every reduced gradient once}}
  %n = fsdp.gradient_norm : () -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @covers_no_gradient_twice(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  // expected-note @below {{this one is there 2 times}}
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  // expected-error @below {{expects every reduced gradient once}}
  %n = fsdp.gradient_norm %g, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @takes_no_other_gradient_into_the_norm(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %h = nn.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{expects 1 reduced gradients, got 2}}
  %n = fsdp.gradient_norm %g, %h : (tensor<8xf32>, tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "none"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @clips_by_the_norm_of_gradients(%x: tensor<4x4xf32>, %e: tensor<68xi64>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %a = fsdp.accumulate %f in f32 : tensor<16xf32>
  %s = fsdp.all_reduce_gradients_start @u %a over @world last : tensor<16xf32>
  %g = fsdp.all_reduce_gradients_wait %s : tensor<16xf32>
  // expected-error @below {{expects the optimizer's norm to come from fsdp.gradient_norm}}
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %n) "adamw" : tensor<16xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @adds_micro_batches_up_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  // expected-error @below {{adds gradients of @u over micro-batches a second time}}
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @adds_in_the_reduction_what_is_not_added_up(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %a = fsdp.accumulate %f in f32 : tensor<16xf32>
  // expected-error @below {{adds gradients of @u over micro-batches a second time}}
  %s = fsdp.reduce_scatter_start @u %a over @world last accumulated : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>, strategy = "hybrid"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reduces_over_every_dimension_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  // expected-error @below {{sums over @shard what is a sum over @shard already}}
  %s2 = fsdp.all_reduce_gradients_start @u %g over @shard last : tensor<8xf32>
  %h = fsdp.all_reduce_gradients_wait %s2 : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @sums_the_norm_over_every_dimension_once(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  %n = fsdp.gradient_norm %h : (tensor<4xf32>) -> tensor<68xi64>
  // expected-error @below {{sums over @shard what is a sum over @shard already}}
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %a2 = fsdp.all_reduce_start optimizer(%m) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m2 = fsdp.all_reduce_wait %a2 : tensor<68xi64>
  %f_m2 = fsdp.round_sum %m2 norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m2) "adamw" : tensor<4xf32>, tensor<f64>
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @updates_nothing_that_is_gathered(%x: tensor<4x4xf32>) {
  // expected-note @below {{gathered here}}
  %t = fsdp.all_gather_start @u backward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  // expected-error @below {{updates @u while it is gathered}}
  fsdp.optimizer_step @u(%r) "adamw" : tensor<8xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_nothing_that_was_updated(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  // expected-note @below {{updated here}}
  fsdp.optimizer_step @u(%r) "adamw" : tensor<8xf32>
  // expected-error @below {{gathers @u behind its update}}
  %t = fsdp.all_gather_start @u backward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}
