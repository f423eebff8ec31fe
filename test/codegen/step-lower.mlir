// RUN: shardc-opt %s -step-lower --split-input-file | FileCheck %s

// Parameters are views of the gathered buffer, gradients are written where they are reduced, views cost nothing, and the
// three elements behind the last parameter are zeroed.
fsdp.mesh @mesh {dims = array<i64: 2>, shard_dims = array<i64: 0>, strategy = "full"}
nn.parameter @w : tensor<6x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 96 : i64, stored_type = f32, trainable}
nn.parameter @b : tensor<5xf32> {initializer = "b", file = "", offset = 96 : i64, length = 20 : i64, stored_type = f32, trainable}
fsdp.unit @root {parameters = [@w, @b], offsets = array<i64: 0, 24>, elements = 32 : i64, padding = 3 : i64, shards = 2 : i64,
  element_type = f32, reason = "root"}
module @kernels {
  func.func private @grow(tensor<2x3x6xf32>) -> (tensor<6x6xf32>, tensor<5xf32>)
}
// CHECK-LABEL: step.plan attributes {workers = 1 : i64}
// CHECK: %[[P:.*]] = step.buffer persistent 64 "root.parameters"
// CHECK: %[[S0:.*]] = step.buffer persistent 64 "root.state0"
// CHECK: %[[S1:.*]] = step.buffer persistent 64 "root.state1"
// CHECK: step.storage @root %[[P]] states %[[S0]], %[[S1]]
// CHECK: %[[X:.*]] = step.buffer persistent 96 "input.x"
// CHECK: step.input "x" "input" %{{.*}} : memref<2x3x4xf32>
func.func @train(%x: tensor<2x3x4xf32> {nn.name = "x", nn.role = "input"}) {
  // CHECK: step.program "train"
  // CHECK: %[[FLAT:.*]] = step.buffer gradient 128 "gradients.root"
  // CHECK: %[[G:.*]] = step.buffer gather 128 "gathered.root"
  // CHECK: %[[T:.*]] = step.all_gather_start @root into %[[G]] {step.phase = "forward", step.unit = "root"}
  %t = fsdp.all_gather_start @root forward
  // CHECK: step.wait %[[T]]
  %w, %b = fsdp.all_gather_wait %t : tensor<6x4xf32>, tensor<5xf32>
  // CHECK: %[[A:.*]] = step.view %[[X]][0] : memref<6x4xf32>
  // CHECK: %[[W:.*]] = step.view %[[G]][0] : memref<6x4xf32>
  // CHECK: step.gemm %[[A]], %[[W]] into %{{.*}} {step.flops = 288 : i64, step.phase = "forward", step.unit = "root", transpose_b}
  %y = nn.linear %x, %w {transpose_weight} : (tensor<2x3x4xf32>, tensor<6x4xf32>) -> tensor<2x3x6xf32>
  // CHECK: %[[DB:.*]] = step.view %[[FLAT]][96] : memref<5xf32>
  // CHECK: step.kernel @kernels::@grow({{.*}}) into(%{{.*}}, %[[DB]])
  %g, %db = step.launch @kernels::@grow(%y) : (tensor<2x3x6xf32>) -> (tensor<6x6xf32>, tensor<5xf32>)
  %g3 = nn.reshape %g : (tensor<6x6xf32>) -> tensor<2x3x6xf32>
  // CHECK: %[[DW:.*]] = step.view %[[FLAT]][0] : memref<6x4xf32>
  // CHECK: step.gemm %{{.*}}, %{{.*}} into %[[DW]] {{.*}}transpose_a
  %dw = nn.linear_weight_grad %x, %g3 {transpose_weight} : (tensor<2x3x4xf32>, tensor<2x3x6xf32>) -> tensor<6x4xf32>
  fsdp.release @root(%w, %b) : tensor<6x4xf32>, tensor<5xf32>
  // CHECK-NOT: step.copy
  // CHECK: %[[PAD:.*]] = step.view %[[FLAT]][116] : memref<3xf32>
  // CHECK: step.fill 0.000000e+00 into %[[PAD]]
  // CHECK: %[[SHARD:.*]] = step.buffer gradient 64 "gradient_shard.root"
  // CHECK: step.reduce_scatter_start @root %[[FLAT]] into %[[SHARD]]
  %r = fsdp.reduce_scatter_start @root(%dw, %db) : tensor<6x4xf32>, tensor<5xf32>
  %shard = fsdp.reduce_scatter_wait %r : tensor<16xf32>
  // CHECK: step.squared_norm
  %n = fsdp.squared_norm %shard {slices = 1 : i64} : (tensor<16xf32>) -> tensor<f64>
  // CHECK: step.all_reduce_start(%{{.*}}) {step.phase = "optimizer"
  %nt = fsdp.all_reduce_start optimizer(%n) : tensor<f64>
  %ns = fsdp.all_reduce_wait %nt : tensor<f64>
  // CHECK: step.optimizer_step @root "adamw"(%
  fsdp.optimizer_step @root(%shard, %ns) "adamw" : tensor<16xf32>, tensor<f64>
  // CHECK: step.report "squared_norm"
  fsdp.report "squared_norm" %ns : tensor<f64>
  return
}

// -----

// A head of attention is a strided view of the fused projection; only the kernel's input is copied.
nn.parameter @table : tensor<16x12xf32> {initializer = "t", file = "", offset = 0 : i64, length = 768 : i64, stored_type = f32}
module @kernels { func.func private @k(tensor<4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<f32> }
// CHECK-LABEL: fsdp.unit @resident.f32
// CHECK: step.input "ids" "input" {{.*}} {bounds = array<i64: 0, 15>} : memref<1x4xi64>
func.func @eval(%ids: tensor<1x4xi64> {nn.name = "ids", nn.role = "input"}) {
  %table = nn.get_parameter @table : tensor<16x12xf32>
  // CHECK: step.embedding
  %qkv = nn.embedding %table, %ids : (tensor<16x12xf32>, tensor<1x4xi64>) -> tensor<1x4x12xf32>
  %h = nn.reshape %qkv : (tensor<1x4x12xf32>) -> tensor<1x4x3x2x2xf32>
  %q5 = nn.slice %h [0, 0, 0, 0, 0] to [1, 4, 1, 2, 2] by [1, 1, 1, 1, 1] : (tensor<1x4x3x2x2xf32>) -> tensor<1x4x1x2x2xf32>
  %k5 = nn.slice %h [0, 0, 1, 0, 0] to [1, 4, 2, 2, 2] by [1, 1, 1, 1, 1] : (tensor<1x4x3x2x2xf32>) -> tensor<1x4x1x2x2xf32>
  %v5 = nn.slice %h [0, 0, 2, 0, 0] to [1, 4, 3, 2, 2] by [1, 1, 1, 1, 1] : (tensor<1x4x3x2x2xf32>) -> tensor<1x4x1x2x2xf32>
  %q = nn.reshape %q5 : (tensor<1x4x1x2x2xf32>) -> tensor<1x4x2x2xf32>
  %k = nn.reshape %k5 : (tensor<1x4x1x2x2xf32>) -> tensor<1x4x2x2xf32>
  %v = nn.reshape %v5 : (tensor<1x4x1x2x2xf32>) -> tensor<1x4x2x2xf32>
  // CHECK-NOT: step.copy
  // CHECK: %[[K:.*]] = step.view %{{.*}}[16] : memref<1x4x2x2xf32, strided<[48, 12, 2, 1]>>
  // CHECK: step.attention %{{.*}}, %[[K]], %{{.*}} into %{{[^,]*}} workspace
  %o, %l = nn.attention %q, %k, %v {scale = 1.0, causal} : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> (tensor<1x4x2x2xf32>, tensor<1x2x4xf32>)
  // CHECK: step.copy %{{.*}} into %[[COPY:.*]] {{.*}} : (memref<4x2x2xf32, strided<[12, 2, 1]>>, memref<4x2x2xf32>)
  // CHECK: step.kernel @kernels::@k
  %k3 = nn.reshape %k : (tensor<1x4x2x2xf32>) -> tensor<4x2x2xf32>
  %s = step.launch @kernels::@k(%k3, %o) : (tensor<4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<f32>
  fsdp.report "loss" %s : tensor<f32>
  return
}
