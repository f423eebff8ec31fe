// What must hold of a matrix's way to its owner and back.
// RUN: shardc-opt %s -fsdp-verify --split-input-file --verify-diagnostics

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @sound(%dw: tensor<4x4xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  %a = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>
  %m = fsdp.gather_matrices_wait %a : tensor<4x4xf32>
  %b = fsdp.scatter_matrices_start (%m) over (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : (tensor<4x4xf32>), (tensor<8xf32>)
  %r = fsdp.scatter_matrices_wait %b : tensor<8xf32>
  fsdp.optimizer_step @u(%g, %n) "muon" along %r : tensor<8xbf16>, tensor<f64>, tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @comes_back_from_its_owner(%dw: tensor<4x4xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  %a = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>
  %m = fsdp.gather_matrices_wait %a : tensor<4x4xf32>
  %b = fsdp.scatter_matrices_start (%m) over (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 0>, slots = array<i64: 0>} : (tensor<4x4xf32>), (tensor<8xf32>)
  %r = fsdp.scatter_matrices_wait %b : tensor<8xf32>
  // expected-error @below {{expects matrices that come back from where they went of @u}}
  fsdp.optimizer_step @u(%g, %n) "muon" along %r : tensor<8xbf16>, tensor<f64>, tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @comes_back(%dw: tensor<4x4xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  // expected-error @below {{expects a direction that comes back from the owners of the matrices of @u}}
  fsdp.optimizer_step @u(%g, %n) "muon" along %d : tensor<8xbf16>, tensor<f64>, tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @is_used(%dw: tensor<4x4xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  // expected-error @below {{expects what became of the direction of @u}}
  fsdp.optimizer_step @u(%g, %n) "muon" : tensor<8xbf16>, tensor<f64>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @moves_once(%dw: tensor<4x4xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  // expected-error @below {{updates the matrices' state of @u twice}}
  %d2 = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @is_of_the_reduced_gradient(%dw: tensor<4x4xbf16>, %x: tensor<8xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  // expected-error @below {{expects the reduced gradient of @u}}
  %d = fsdp.matrix_direction @u(%x, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @waits(%dw: tensor<4x4xbf16>) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xbf16>) -> tensor<16xbf16>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xbf16>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xbf16>
  %p = fsdp.gradient_norm %g : (tensor<8xbf16>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  // expected-error @below {{expects one wait, got 0}}
  %a = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>
  return
}
