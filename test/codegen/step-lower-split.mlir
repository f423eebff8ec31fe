// A GPU's products and sums over ranks have scratch memory in the plan; a processor's have none. Float32 masters of bf16 parameters may
// be these and what is missing to them: 2 bytes and a bit for each of 4 elements.
// RUN: shardc-opt %s -step-lower=target=cuda:sm_90 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: shardc-opt %s -step-lower=target=cuda:sm_80 | FileCheck %s --check-prefixes=CHECK,OLD
// RUN: shardc-opt %s -step-lower | FileCheck %s --check-prefixes=CHECK,CPU

module attributes {nn.precision = {parameters = bf16, gradients = f32, loss = f32, master = f32, split_master}} {
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}
nn.parameter @n : tensor<16xf32> {initializer = "n", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 16 : i64, padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
  reshard = 2 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @n.u {parameters = [@n], offsets = array<i64: 0>, elements = 16 : i64, padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
  reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
// CHECK: %[[P:.*]] = step.buffer persistent 16 "u.parameters"
// CHECK: %[[R:.*]] = step.buffer persistent 24 "u.remainder"
// CHECK: %[[S0:.*]] = step.buffer persistent 32 "u.state0"
// CHECK: step.storage @u %[[P]] remainder %[[R]] states %[[S0]]{{$}}
// CHECK: step.storage @n.u %{{[0-9]+}} states %{{[0-9]+}}{{$}}
func.func @train(%x: tensor<4x4xbf16> {nn.name = "x", nn.role = "input"}, %dn: tensor<16xf32> {nn.name = "dn", nn.role = "input"}, %loss: tensor<f64> {nn.name = "l", nn.role = "input"}) {
  // GPU: step.buffer workspace 33554432
  // OLD: step.buffer workspace 4194304
  // CPU: step.gemm
  %dw = nn.linear_weight_grad %x, %x : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
  // GPU: %[[ARRIVED:.*]] = step.buffer workspace 64
  // GPU: %[[W:.*]] = step.view %[[ARRIVED]][0] : memref<64xui8>
  // GPU: step.reduce_scatter_start @u %{{.*}} into %{{.*}} over @shard workspace %[[W]]
  // CPU: step.reduce_scatter_start @u %{{.*}} into %{{[0-9]+}} over @shard {
  %f = fsdp.flat_gradients @u(%dw) : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = fsdp.reduce_scatter_start @u %f over @shard : tensor<16xf32>
  %g = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %fn = fsdp.flat_gradients @n.u(%dn) : (tensor<16xf32>) -> tensor<16xf32>
  %sn = fsdp.reduce_scatter_start @n.u %fn over @shard : tensor<16xf32>
  %gn = fsdp.reduce_scatter_wait %sn : tensor<8xf32>
  // GPU: step.buffer workspace 1088
  // GPU: step.all_reduce_start(%{{[0-9]+}}, %{{[0-9]+}}) over @shard workspace %{{[0-9]+}} {
  // CPU: step.all_reduce_start(%{{[0-9]+}}, %{{[0-9]+}}) over @shard {
  %n = fsdp.gradient_norm %g, %gn : (tensor<8xf32>, tensor<8xf32>) -> tensor<68xi64>
  %e_l = fsdp.exact_sum %loss : tensor<f64> -> tensor<68xi64>
  %b = fsdp.all_reduce_start optimizer(%e_l, %n) over @shard {norms = array<i1: false, true>} : tensor<68xi64>, tensor<68xi64>
  %m:2 = fsdp.all_reduce_wait %b : tensor<68xi64>, tensor<68xi64>
  %r = fsdp.round_sum %m#1 norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %r) "sgd" : tensor<8xf32>, tensor<f64>
  fsdp.optimizer_step @n.u(%gn, %r) "sgd" : tensor<8xf32>, tensor<f64>
  return
}
}
