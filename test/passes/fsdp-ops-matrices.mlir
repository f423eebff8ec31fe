// What the ops check that bring matrices to their owners and back.
// RUN: shardc-opt %s --split-input-file --verify-diagnostics

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @names_an_optimizer_of_matrices(%g: tensor<8xbf16>, %n: tensor<f64>) {
  // expected-error @below {{expects kind muon, got adamw}}
  %d = fsdp.matrix_direction @u(%g, %n) "adamw" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @computes_in_32_bits(%g: tensor<8xbf16>, %n: tensor<f64>) {
  // expected-error @below {{expects the direction to be 'tensor<8xf32>', got 'tensor<8xbf16>'}}
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xbf16>, tensor<f64>) -> tensor<8xbf16>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @has_an_owner_for_each(%d: tensor<8xf32>) {
  // expected-error @below {{expects as many owners as offsets, got 2 and 1}}
  %t = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1, 0>, slots = array<i64: 0>} : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @has_a_slice_of_each_unit(%d: tensor<8xf32>) {
  // expected-error @below {{expects a slice for each of 1 units, got 2}}
  %t = fsdp.gather_matrices_start (%d, %d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @has_one_matrix_in_a_slot(%d: tensor<8xf32>) {
  // expected-error @below {{brings two matrices to tensor 0 of rank 1}}
  %t = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0, 0>, offsets = array<i64: 0, 8>, owners = array<i64: 1, 1>,
    slots = array<i64: 0, 0>} : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @takes_directions(%d: tensor<8xbf16>) {
  // expected-error @below {{expects the direction to be 'tensor<8xf32>', got 'tensor<8xbf16>'}}
  %t = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xbf16>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @makes_matrices(%d: tensor<8xf32>) {
  %t = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>
  // expected-error @below {{expects result 0 to have two dims, got 'tensor<16xf32>'}}
  %m = fsdp.gather_matrices_wait %t : tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @takes_what_there_is(%d: tensor<8xf32>, %m: tensor<4x4xf32>) {
  // expected-error @below {{takes tensor 1 of 1}}
  %t = fsdp.scatter_matrices_start (%m) over (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 1>}
    : (tensor<4x4xf32>), (tensor<8xf32>)
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @gives_slices_back(%d: tensor<8xf32>, %m: tensor<4x4xf32>) {
  %t = fsdp.scatter_matrices_start (%m) over (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>}
    : (tensor<4x4xf32>), (tensor<8xf32>)
  // expected-error @below {{expects one result per slice of its start, of the same types}}
  %r = fsdp.scatter_matrices_wait %t : tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = bf16, reason = ""}
func.func @waits_for_its_own(%d: tensor<8xf32>) {
  %t = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>
  // expected-error @below {{expects the token of fsdp.scatter_matrices_start}}
  %r = fsdp.scatter_matrices_wait %t : tensor<8xf32>
  return
}
