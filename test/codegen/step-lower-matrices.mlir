// RUN: shardc-opt %s -step-lower | FileCheck %s

// A matrix is a buffer that its owner fills; what is made of it runs there alone, and comes back over the direction.
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16, padding = 0, shards = 2, optimizer_shards = 2, reshard = 2,
  element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
// AdamW's second state has room for what is no matrix: nothing.
// CHECK: step.buffer persistent 32 "u.state0"
// CHECK: step.buffer persistent 0 "u.state1"
func.func @train(%dw: tensor<4x4xf32> {nn.name = "x", nn.role = "input"}) {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @world accumulated : tensor<16xf32>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %p = fsdp.gradient_norm %g : (tensor<8xf32>) -> tensor<68xi64>
  %q = fsdp.all_reduce_start optimizer(%p) over @world {norms = array<i1: true>} : tensor<68xi64>
  %e = fsdp.all_reduce_wait %q : tensor<68xi64>
  %n = fsdp.round_sum %e norm : tensor<68xi64> -> tensor<f64>
  // CHECK: %[[D:.*]] = step.buffer activation 32 "matrix_direction"
  // CHECK: %[[D0:.*]] = step.view %[[D]][0] : memref<8xf32>
  // CHECK: step.matrix_direction @u "muon"(%{{.*}}, %{{.*}}) into %[[D0]] {step.phase = "optimizer", step.unit = "u"}
  %d = fsdp.matrix_direction @u(%g, %n) "muon" : (tensor<8xf32>, tensor<f64>) -> tensor<8xf32>
  // CHECK: %[[M:.*]] = step.buffer activation 64 "gather_matrices_wait"
  // CHECK: %[[M0:.*]] = step.view %[[M]][0] : memref<4x4xf32>
  // CHECK: %[[A:.*]] = step.gather_matrices_start(%{{.*}}) into(%[[M0]])
  // CHECK-NOT: step.ranks
  // CHECK-SAME: owners = array<i64: 1>
  // CHECK: step.wait %[[A]]
  %a = fsdp.gather_matrices_start (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : tensor<8xf32>
  %m = fsdp.gather_matrices_wait %a : tensor<4x4xf32>
  // CHECK: step.gemm {{.*}}step.ranks = array<i64: 1>
  %x = nn.matmul %m, %m {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: step.gemm {{.*}}step.ranks = array<i64: 1>
  %y = nn.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[D1:.*]] = step.view %[[D]][0] : memref<8xf32>
  // CHECK: %[[B:.*]] = step.scatter_matrices_start(%{{.*}}) into(%[[D1]])
  // CHECK-NOT: step.ranks
  // CHECK: step.wait %[[B]]
  %b = fsdp.scatter_matrices_start (%y) over (%d) {units = [@u], unit_of = array<i64: 0>, offsets = array<i64: 0>, owners = array<i64: 1>, slots = array<i64: 0>} : (tensor<4x4xf32>), (tensor<8xf32>)
  %r = fsdp.scatter_matrices_wait %b : tensor<8xf32>
  // CHECK: %[[D2:.*]] = step.view %[[D]][0] : memref<8xf32>
  // CHECK: step.optimizer_step @u "muon"(%{{.*}}, %{{.*}}) along %[[D2]]
  fsdp.optimizer_step @u(%g, %n) "muon" along %r : tensor<8xf32>, tensor<f64>, tensor<8xf32>
  return
}
