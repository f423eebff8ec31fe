// RUN: shardc-opt %s --fsdp-verify --split-input-file --verify-diagnostics

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @accepts_use_before_release_and_a_whole_step(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  %y = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  %t2 = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t2 : tensor<8xf32>
  %n = fsdp.squared_norm %g {slices = 1 : i64} : (tensor<8xf32>) -> tensor<f64>
  %a = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %s = fsdp.all_reduce_wait %a : tensor<f64>
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @needs_a_wait(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects one wait, got 0}}
  %t = fsdp.all_gather_start @u forward
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @waits_once(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects one wait, got 2}}
  %t = fsdp.all_gather_start @u forward
  // expected-note @below {{a wait is here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{a wait is here}}
  %v = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @keeps_no_collective_in_a_region(%c: i1) {
  scf.if %c {
    // expected-error @below {{stands in a region; collectives have no control flow around them}}
    %t = fsdp.all_gather_start @u forward
    %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
    fsdp.release @u(%w) : tensor<4x4xf32>
  }
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @uses_nothing_after_release(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  // expected-note @below {{gathered here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{released here}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{uses a parameter of @u after its release}}
  %y = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @uses_no_view_after_release(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
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

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @releases_before_gathering_again(%x: tensor<4x4xf32>) {
  // expected-note @below {{gathered here}}
  %t = fsdp.all_gather_start @u forward
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-error @below {{gathers @u again before its release}}
  %t2 = fsdp.all_gather_start @u backward
  %w2 = fsdp.all_gather_wait %t2 : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @releases_what_it_gathers(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  // expected-error @below {{gathers @u, which is never released}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @releases_once(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  // expected-note @below {{gathered here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-note @below {{released here}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  // expected-error @below {{uses a parameter of @u after its release}}
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @releases_only_what_is_gathered(%x: tensor<4x4xf32>) {
  // expected-error @below {{releases @u, which is not gathered here}}
  fsdp.release @u(%x) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @releases_the_tensors_of_the_wait(%x: tensor<4x4xf32>) {
  %t = fsdp.all_gather_start @u forward
  // expected-note @below {{the wait is here}}
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  // expected-error @below {{expects the tensors of the wait that it ends, in order}}
  fsdp.release @u(%x) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, element_type = f32, reason = ""}
func.func @gathers_only_what_is_sharded(%x: tensor<4x4xf32>) {
  // expected-error @below {{gathers @u, which is not sharded; use fsdp.resident}}
  %t = fsdp.all_gather_start @u forward
  %w = fsdp.all_gather_wait %t : tensor<4x4xf32>
  fsdp.release @u(%w) : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit is here}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @reads_parameters_through_their_unit(%x: tensor<4x4xf32>) {
  // expected-error @below {{reads @w outside of its unit; gather @u}}
  %w = nn.get_parameter @w : tensor<4x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the unit has 1 shards, the mesh 2 ranks}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, element_type = f32, reason = ""}
func.func @reduces_by_the_unit_s_collective(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects gradients of @u to go to fsdp.all_reduce_gradients_start}}
  %g = fsdp.flat_gradients @u(%x) : (tensor<4x4xf32>) -> tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @reduces_once(%x: tensor<4x4xf32>) {
  // expected-note @below {{reduced here}}
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  // expected-error @below {{reduces gradients of @u twice}}
  %t2 = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g2 = fsdp.reduce_scatter_wait %t2 : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @updates_what_it_reduces(%x: tensor<4x4xf32>) {
  // expected-error @below {{reduces gradients of @u, which no fsdp.optimizer_step uses}}
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @updates_once(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  %n = fsdp.squared_norm %g {slices = 1 : i64} : (tensor<8xf32>) -> tensor<f64>
  %a = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %s = fsdp.all_reduce_wait %a : tensor<f64>
  // expected-note @below {{updated here}}
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<8xf32>, tensor<f64>
  // expected-error @below {{updates @u twice}}
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @updates_by_the_unit_s_gradient(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  %n = fsdp.squared_norm %g {slices = 1 : i64} : (tensor<8xf32>) -> tensor<f64>
  %a = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %s = fsdp.all_reduce_wait %a : tensor<f64>
  // expected-note @below {{the gradient comes from here}}
  %h = nn.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{expects the reduced gradient of @u}}
  fsdp.optimizer_step @u(%h, %s) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @sums_the_norm_over_ranks(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  // expected-error @below {{expects the squared norm of shards to be summed over ranks}}
  %s = fsdp.squared_norm %g {slices = 1 : i64} : (tensor<8xf32>) -> tensor<f64>
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @covers_every_gradient_by_the_norm(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  // expected-note @below {{this one is there 0 times}}
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  // expected-error @below {{expects every reduced gradient once}}
  %n = fsdp.squared_norm {slices = 1 : i64} : () -> tensor<f64>
  %a = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %s = fsdp.all_reduce_wait %a : tensor<f64>
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}
func.func @takes_no_other_gradient_into_the_norm(%x: tensor<4x4xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<8xf32>
  %h = nn.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{expects 1 reduced gradients, got 2}}
  %n = fsdp.squared_norm %g, %h {slices = 1 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<f64>
  %a = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %s = fsdp.all_reduce_wait %a : tensor<f64>
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<8xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 1, element_type = f32, reason = ""}
func.func @cuts_whole_gradients_into_the_slices_of_full(%x: tensor<4x4xf32>) {
  %t = fsdp.all_reduce_gradients_start @u(%x) : tensor<4x4xf32>
  %g = fsdp.all_reduce_gradients_wait %t : tensor<16xf32>
  // expected-error @below {{expects 2 slices, got 1}}
  %n = fsdp.squared_norm %g {slices = 1 : i64} : (tensor<16xf32>) -> tensor<f64>
  fsdp.optimizer_step @u(%g, %n) "adamw" : tensor<16xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @v : tensor<2xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<2xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, element_type = f32, reason = ""}
fsdp.unit @z {parameters = [@w], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, element_type = f32, reason = ""}
// expected-error @below {{expects a reduction of the gradients of @z}}
func.func @reduces_every_unit(%x: tensor<2xf32>) {
  %t = fsdp.reduce_scatter_start @u(%x) : tensor<2xf32>
  %g = fsdp.reduce_scatter_wait %t : tensor<1xf32>
  %n = fsdp.squared_norm %g {slices = 1 : i64} : (tensor<1xf32>) -> tensor<f64>
  %a = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %s = fsdp.all_reduce_wait %a : tensor<f64>
  fsdp.optimizer_step @u(%g, %s) "adamw" : tensor<1xf32>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @v : tensor<2xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<2xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-note @below {{the other unit is here}}
fsdp.unit @u {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, element_type = f32, reason = ""}
// expected-error @below {{has @v, which is in another unit already}}
fsdp.unit @z {parameters = [@v], offsets = array<i64: 0>, elements = 2, padding = 0, shards = 2, element_type = f32, reason = ""}

// -----

// expected-note @below {{the mesh is here}}
fsdp.mesh @mesh {dims = array<i64: 4>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
// expected-error @below {{has 2 shards, the mesh cuts into 4}}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, element_type = f32, reason = ""}

// -----

// expected-error @below {{expects one fsdp.mesh, got 0}}
module {}
