// What the ops check whose rows travel in place of a table.
// RUN: shardc-opt %s --split-input-file --verify-diagnostics

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @sound(%ids: tensor<3xi32>, %dx: tensor<3x4xbf16>) {
  %t = fsdp.gather_rows_start @u(%ids) over @world : tensor<3xi32>
  %x = fsdp.gather_rows_wait %t : tensor<3x4xbf16>
  %r = fsdp.reduce_rows_start @u(%dx, %ids) over @world accumulated : tensor<3x4xbf16>, tensor<3xi32>
  %g = fsdp.reduce_scatter_wait %r : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @ids_are_integers(%ids: tensor<3xf32>) {
  // expected-error @below {{expects ids to be i64 or i32, got 'tensor<3xf32>'}}
  %t = fsdp.gather_rows_start @u(%ids) over @world : tensor<3xf32>
  %x = fsdp.gather_rows_wait %t : tensor<3x4xbf16>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @rows_have_the_units_type(%ids: tensor<3xi64>) {
  %t = fsdp.gather_rows_start @u(%ids) over @world : tensor<3xi64>
  // expected-error @below {{expects rows to be 'tensor<3x4xbf16>', got 'tensor<3x4xf32>'}}
  %x = fsdp.gather_rows_wait %t : tensor<3x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @gradients_are_added_as_they_are_reduced(%ids: tensor<3xi64>, %dx: tensor<3x4xf64>) {
  // expected-error @below {{expects a gradient whose elements are added in 'f32', got 'tensor<3x4xf64>'}}
  %r = fsdp.reduce_rows_start @u(%dx, %ids) over @world accumulated : tensor<3x4xf64>, tensor<3xi64>
  %g = fsdp.reduce_scatter_wait %r : tensor<8xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
func.func @a_rank_gets_its_slice(%ids: tensor<3xi64>, %dx: tensor<3x4xf32>) {
  %r = fsdp.reduce_rows_start @u(%dx, %ids) over @world accumulated : tensor<3x4xf32>, tensor<3xi64>
  // expected-error @below {{expects the shard to be 'tensor<8xf32>', got 'tensor<16xf32>'}}
  %g = fsdp.reduce_scatter_wait %r : tensor<16xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x3xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 12, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @ranks_divide_a_row(%ids: tensor<3xi64>) {
  // expected-error @below {{expects slices of whole rows on as many ranks as divide a row, got 12 elements in 2 slices, rows of 3 and 2 ranks}}
  %t = fsdp.gather_rows_start @u(%ids) over @world : tensor<3xi64>
  %x = fsdp.gather_rows_wait %t : tensor<3x3xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
nn.parameter @b : tensor<4xf32> {initializer = "b", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w, @b], offsets = array<i64: 0, 16>, elements = 24, padding = 4, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @a_table_is_alone(%ids: tensor<3xi64>) {
  // expected-error @below {{expects a unit of one table at the beginning of its flat buffer, got @u}}
  %t = fsdp.gather_rows_start @u(%ids) over @world : tensor<3xi64>
  %x = fsdp.gather_rows_wait %t : tensor<3x4xf32>
  return
}

// -----

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @waits_for_its_own_start() {
  %t = fsdp.all_gather_start @u forward over @world
  // expected-error @below {{expects the token of fsdp.gather_rows_start}}
  %x = fsdp.gather_rows_wait %t : tensor<3x4xf32>
  return
}
