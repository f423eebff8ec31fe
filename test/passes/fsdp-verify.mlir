// What fsdp-verify says of tokens, gathered buffers and the module; what it accepts.
// RUN: shardc-opt %s --fsdp-verify --split-input-file --verify-diagnostics

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_use_before_release_and_a_whole_step(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %n = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 4>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 4 : i64}
fsdp.group @half {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 4, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_a_slice_kept_for_backward(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  %k = fsdp.keep @u(%w) over @half : (tensor<4x4xf32>) -> tensor<8xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  %t2 = fsdp.all_gather_start @u backward over @half from %k : tensor<8xf32>
  %w2 = fsdp.all_gather_wait %t2 : tensor<4x4xf32>
  fsdp.release @u(%w2) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_gradients_added_up_before_their_reduction(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %g = fsdp.accumulate %f in f32 : tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %g over @world last : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %n = fsdp.gradient_norm %r : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%r, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>, strategy = "hybrid"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_slices_summed_over_replicas(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %g = fsdp.accumulate %r in f32 : tensor<8xf32>
  %s2 = fsdp.all_reduce_gradients_start @u %g over @replicate last : tensor<8xf32>
  %h = fsdp.all_reduce_gradients_wait %s2 : tensor<8xf32>
  %n = fsdp.gradient_norm %h : (tensor<8xf32>) -> tensor<68xi64>
  %a = fsdp.all_reduce_start optimizer(%n) over @shard {norms = array<i1: true>} : tensor<68xi64>
  %m = fsdp.all_reduce_wait %a : tensor<68xi64>
  %f_m = fsdp.round_sum %m norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%h, %f_m) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_finer_slices_of_the_optimizer(%x: tensor<4x4xf32>) {
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
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "none"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_whole_gradients(%x: tensor<4x4xf32>) {
  %f = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  %a = fsdp.accumulate %f in f32 : tensor<16xf32>
  %s = fsdp.all_reduce_gradients_start @u %a over @world last : tensor<16xf32>
  %g = fsdp.all_reduce_gradients_wait %s : tensor<16xf32>
  %n = fsdp.gradient_norm %g : (tensor<16xf32>) -> tensor<68xi64>
  %f_n = fsdp.round_sum %n norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_n) "adamw" : tensor<16xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 0, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @accepts_a_frozen_unit_without_a_step() {
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @needs_a_wait(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects one wait, got 0}}
  %t = fsdp.all_gather_start @u forward over @world
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @waits_once(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects one wait, got 2}}
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{a wait is here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{a wait is here}}
  %v = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 4, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @waits_for_updates(%x: tensor<4x4xf32>) {
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
  // expected-error @below {{expects one wait, got 0}}
  %q = fsdp.all_gather_updates_start @u over @replicate
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func private @elsewhere(!fsdp.token)
func.func @hands_no_token_on() {
  // expected-error @below {{expects its token to go to a wait in the same block}}
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{it goes here}}
  func.call @elsewhere(%t) : (!fsdp.token) -> ()
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_no_collective_in_a_region(%c: i1) {
  scf.if %c {
    // expected-error @below {{stands in a region; collectives have no control flow around them}}
    %t = fsdp.all_gather_start @u forward over @world
    %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
    fsdp.release @u(%w) : tensor<4x4xf32>
  }
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
// expected-error @below {{expects one block, so that collectives have one order on all ranks}}
func.func @has_one_block(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  cf.br ^b
^b:
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @uses_nothing_after_release(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{gathered here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{released here}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{uses a parameter of @u after its release}}
  %y = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @uses_no_view_after_release(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{gathered here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  %v = nn.transpose %w [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-note @below {{released here}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{uses a parameter of @u after its release}}
  %y = nn.matmul %x, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @keeps_nothing_after_release(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{gathered here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{released here}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{uses a parameter of @u after its release}}
  %k = fsdp.keep @u(%w) over @world : (tensor<4x4xf32>) -> tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @releases_before_gathering_again(%x: tensor<4x4xf32>) {
  // expected-note @below {{gathered here}}
  %t = fsdp.all_gather_start @u forward over @world
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-error @below {{gathers @u again before its release}}
  %t2 = fsdp.all_gather_start @u backward over @world
  %w2 = fsdp.all_gather_wait %t2 : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @releases_what_it_gathers(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-error @below {{gathers @u, which is never released}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @releases_once(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{gathered here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{released here}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{uses a parameter of @u after its release}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @releases_only_what_is_gathered(%x: tensor<4x4xf32>) {
  // expected-error @below {{releases @u, which is not gathered here}}
  fsdp.release @u(%x) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @releases_the_tensors_of_the_wait(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-note @below {{the wait is here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-error @below {{expects the tensors of the wait that it ends, in order}}
  fsdp.release @u(%x) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "none"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, optimizer_shards = 1, reshard = 1,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @gathers_only_what_is_sharded(%k: tensor<8xf32>) {
  // expected-error @below {{gathers @u, which is not sharded; use fsdp.resident}}
  %t = fsdp.all_gather_start @u forward over @world from %k : tensor<8xf32>
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @reads_parameters_through_their_unit(%x: tensor<4x4xf32>) {
  // expected-error @below {{reads @w outside of its unit; gather @u}}
  %w = nn.get_parameter @w : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
nn.parameter @v : tensor<2xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<2xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the other unit is here}}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
// expected-error @below {{has @v, which is in another unit already}}
fsdp.unit @z {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

// expected-note @below {{the mesh is here}}
fsdp.mesh @mesh {dims = array<i64: 4>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{has 2 shards, the mesh cuts into 4}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

// expected-note @below {{the mesh is here}}
fsdp.mesh @mesh {dims = array<i64: 2, 2>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{has 2 optimizer slices, the mesh cuts into 4}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}

// -----

// expected-error @below {{expects one fsdp.mesh, got 0}}
module {}

// -----

// expected-error @below {{expects one fsdp.mesh, got 2}}
module {
  fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
  fsdp.mesh @other {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
}
