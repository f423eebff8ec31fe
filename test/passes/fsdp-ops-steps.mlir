// What the ops of a step check of themselves, against their unit and group.
// RUN: shardc-opt %s --split-input-file --verify-diagnostics

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
  // expected-error @below {{refers to @u, which is no fsdp.group}}
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
  // expected-error @below {{refers to @w, which is no fsdp.group}}
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
  // expected-error @below {{refers to @w, which is no fsdp.group}}
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
  // expected-error @below {{refers to @w, which is no fsdp.group}}
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

func.func @measures_exactly(%x: tensor<8xf32>) {
  // expected-error @below {{expects the result to be 'tensor<68xi64>', got 'tensor<f64>'}}
  %n = fsdp.gradient_norm %x : (tensor<8xf32>) -> tensor<f64>
  return
}

// -----

func.func @adds_flat_gradients(%x: tensor<8xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{expects operand 1 to be one-dimensional, got 'tensor<2x4xf32>'}}
  %n = fsdp.gradient_norm %x, %y : (tensor<8xf32>, tensor<2x4xf32>) -> tensor<68xi64>
  return
}

// -----

func.func @adds_exactly(%x: tensor<f64>) {
  // expected-error @below {{expects the sum to be 'tensor<68xi64>', got 'tensor<4xi64>'}}
  %e = fsdp.exact_sum %x : tensor<f64> -> tensor<4xi64>
  return
}

// -----

func.func @rounds_to_float64(%x: tensor<68xi64>) {
  // expected-error @below {{expects the value to be tensor<f64>, got 'tensor<f32>'}}
  %n = fsdp.round_sum %x norm : tensor<68xi64> -> tensor<f32>
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
  // expected-error @below {{refers to @w, which is no fsdp.group}}
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

func.func @metrics_are_scalars(%x: tensor<4x4xf32>) {
  // expected-error @below {{expects a float tensor of no dims, got 'tensor<4x4xf32>'}}
  fsdp.metric "loss" %x : tensor<4x4xf32>
  return
}

// -----

fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
func.func @knows_its_optimizers(%x: tensor<8xf32>, %n: tensor<f64>) {
  // expected-error @below {{expects kind adamw, adam, sgd, lion, amsgrad, adagrad or muon, got adamax}}
  fsdp.optimizer_step @u(%x, %n) "adamax" : tensor<8xf32>, tensor<f64>
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
  // expected-error @below {{refers to @w, which is no fsdp.group}}
  %t = fsdp.all_gather_updates_start @u over @w
  return
}
