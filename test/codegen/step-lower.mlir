// RUN: shardc-opt %s -step-lower --split-input-file | FileCheck %s

// Parameters are views of the gathered buffer, gradients are written where they are reduced, views cost nothing, and the
// three elements behind the last parameter are zeroed.
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<6x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 96 : i64, stored_type = f32, trainable}
nn.parameter @b : tensor<5xf32> {initializer = "b", file = "", offset = 96 : i64, length = 20 : i64, stored_type = f32, trainable}
fsdp.unit @root {parameters = [@w, @b], offsets = array<i64: 0, 24>, elements = 32 : i64, padding = 3 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
module @kernels {
  func.func private @grow(tensor<2x3x6xf32>) -> (tensor<6x6xf32>, tensor<5xf32>)
}
// CHECK-LABEL: step.plan {
// CHECK: %[[P:.*]] = step.buffer persistent 64 "root.parameters"
// CHECK: %[[S0:.*]] = step.buffer persistent 64 "root.state0"
// CHECK: %[[S1:.*]] = step.buffer persistent 64 "root.state1"
// CHECK: step.storage @root %[[P]] states %[[S0]], %[[S1]]
// CHECK: %[[X:.*]] = step.buffer persistent 96 "input.x"
// CHECK: step.input "x" "input" %{{.*}} : memref<2x3x4xf32>
// CHECK: %[[ACC:.*]] = step.buffer accumulation 64 "accumulator.root"
func.func @train(%x: tensor<2x3x4xf32> {nn.name = "x", nn.role = "input"}) {
  // CHECK: step.program "train"
  // CHECK: %[[FLAT:.*]] = step.buffer gradient 128 "gradients.root"
  // CHECK: %[[G:.*]] = step.buffer gather 128 "gathered.root"
  // CHECK: %[[T:.*]] = step.all_gather_start @root into %[[G]] over @world {step.phase = "forward", step.unit = "root"}
  %t = fsdp.all_gather_start @root forward over @world
  // CHECK: step.wait %[[T]]
  %w, %b = fsdp.all_gather_wait %t : tensor<6x4xf32>, tensor<5xf32>
  // CHECK: %[[A:.*]] = step.view %[[X]][0] : memref<6x4xf32>
  // CHECK: %[[W:.*]] = step.view %[[G]][0] : memref<6x4xf32>
  // CHECK: step.gemm %[[A]], %[[W]] into %{{.*}} {step.flops = 288 : i64, step.phase = "forward", step.unit = "root", transpose_b}
  %y = nn.linear %x, %w {transpose_weight} : (tensor<2x3x4xf32>, tensor<6x4xf32>) -> tensor<2x3x6xf32>
  // CHECK: %[[DB:.*]] = step.view %[[FLAT]][96] : memref<5xf32>
  // CHECK: step.launch @kernels::@grow({{.*}}) into(%{{.*}}, %[[DB]])
  %g, %db = step.call @kernels::@grow(%y) : (tensor<2x3x6xf32>) -> (tensor<6x6xf32>, tensor<5xf32>)
  %g3 = nn.reshape %g : (tensor<6x6xf32>) -> tensor<2x3x6xf32>
  // CHECK: %[[DW:.*]] = step.view %[[FLAT]][0] : memref<6x4xf32>
  // CHECK: step.gemm %{{.*}}, %{{.*}} into %[[DW]] {{.*}}transpose_a
  %dw = nn.linear_weight_grad %x, %g3 {transpose_weight} : (tensor<2x3x4xf32>, tensor<2x3x6xf32>) -> tensor<6x4xf32>
  fsdp.release @root(%w, %b) : tensor<6x4xf32>, tensor<5xf32>
  // CHECK-NOT: step.copy
  // CHECK: %[[PAD:.*]] = step.view %[[FLAT]][116] : memref<3xf32>
  // CHECK: step.fill 0.000000e+00 into %[[PAD]]
  // CHECK: %[[SHARD:.*]] = step.buffer gradient 64 "gradient_shard.root"
  // CHECK: %[[WHOLE:.*]] = step.view %[[FLAT]][0] : memref<32xf32>
  // CHECK: %[[SLICE:.*]] = step.view %[[SHARD]][0] : memref<16xf32>
  // CHECK: %[[R:.*]] = step.reduce_scatter_start @root %[[WHOLE]] into %[[SLICE]] over @world {{.*}}step.unit = "root"}
  // CHECK: step.wait %[[R]]
  %f = fsdp.flat_gradients @root(%dw, %db) : (tensor<6x4xf32>, tensor<5xf32>) -> tensor<32xf32>
  %r = fsdp.reduce_scatter_start @root %f over @world : tensor<32xf32>
  %shard = fsdp.reduce_scatter_wait %r : tensor<16xf32>
  // The sum over micro-batches is made in the shard itself.
  // CHECK: %[[SHARD0:.*]] = step.view %[[SHARD]][0]
  // CHECK: %[[ACC0:.*]] = step.view %[[ACC]][0] : memref<16xf32>
  // CHECK: step.accumulate %[[SHARD0]] in %[[ACC0]]
  %a = fsdp.accumulate %shard in f32 : tensor<16xf32>
  // CHECK: step.gradient_norm(%{{.*}}) into %{{.*}} {step.phase = "optimizer"
  %n = fsdp.gradient_norm %a : (tensor<16xf32>) -> tensor<68xi64>
  // CHECK: step.all_reduce_start(%{{.*}}) over @world {norms = array<i1: true>, step.phase = "optimizer"
  %nt = fsdp.all_reduce_start optimizer(%n) over @world {norms = array<i1: true>} : tensor<68xi64>
  %ns = fsdp.all_reduce_wait %nt : tensor<68xi64>
  // CHECK: step.optimizer_step @root "adamw"(%
  %f_ns = fsdp.round_sum %ns norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @root(%a, %f_ns) "adamw" : tensor<16xf32>, tensor<f64>
  // CHECK: step.metric "gradient_norm"
  fsdp.metric "gradient_norm" %f_ns : tensor<f64>
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
  // CHECK: step.launch @kernels::@k
  %k3 = nn.reshape %k : (tensor<1x4x2x2xf32>) -> tensor<4x2x2xf32>
  %s = step.call @kernels::@k(%k3, %o) : (tensor<4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<f32>
  fsdp.metric "loss" %s : tensor<f32>
  return
}

// -----

// A unit of 4 shards, gathered in bf16 among 4 neighbours, again between 2 of them, and updated in float32 in 8 slices; beside it
// one that is frozen. Flat gradients are added up, so the reductions are for the last micro-batch.
fsdp.mesh @mesh {dims = array<i64: 2, 4>, names = ["replicate", "shard"], shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>, strategy = "hybrid_opt"}
fsdp.group @replicate {stride = 4 : i64, size = 2 : i64}
fsdp.group @shard {stride = 1 : i64, size = 4 : i64}
fsdp.group @reshard.2 {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<8x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
nn.parameter @v : tensor<8x4xbf16> {initializer = "v", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, frozen}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 32 : i64, padding = 0 : i64, shards = 4 : i64, optimizer_shards = 8 : i64,
  reshard = 2 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @u.frozen {parameters = [@v], offsets = array<i64: 0>, elements = 32 : i64, padding = 0 : i64, shards = 4 : i64, optimizer_shards = 0 : i64,
  reshard = 4 : i64, element_type = bf16, master_type = bf16, gradient_type = bf16, reason = ""}
// CHECK-LABEL: fsdp.unit @u.frozen
// CHECK: %[[P:.*]] = step.buffer persistent 16 "u.parameters"
// CHECK: %[[MASTER:.*]] = step.buffer persistent 16 "u.master"
// CHECK: %[[S0:.*]] = step.buffer persistent 16 "u.state0"
// CHECK: step.storage @u %[[P]] master %[[MASTER]] states %[[S0]]{{$}}
// CHECK: %[[V:.*]] = step.buffer persistent 16 "u.frozen.parameters"
// CHECK: step.storage @u.frozen %[[V]]{{$}}
// CHECK: %[[ACC:.*]] = step.buffer accumulation 128 "accumulator.u"
// CHECK: %[[LOSSES:.*]] = step.buffer accumulation 8 "accumulator"
func.func @train(%dw: tensor<8x4xf32> {nn.name = "dw", nn.role = "input"}, %loss: tensor<f64> {nn.name = "l", nn.role = "input"}) {
  // CHECK: %[[FLAT:.*]] = step.buffer gradient 128 "gradients.u"
  // CHECK: %[[G:.*]] = step.buffer gather 64 "gathered.u"
  // CHECK: step.all_gather_start @u into %[[G]] over @shard {step.phase = "forward"
  %t = fsdp.all_gather_start @u forward over @shard
  %w = fsdp.all_gather_wait %t : tensor<8x4xbf16>
  // CHECK: %[[K:.*]] = step.buffer gather 32 "kept.u"
  // CHECK: %[[K0:.*]] = step.view %[[K]][0] : memref<16xbf16>
  // CHECK: step.keep @u %[[G]] over @reshard.2 into %[[K0]]
  %k = fsdp.keep @u(%w) over @reshard.2 : (tensor<8x4xbf16>) -> tensor<16xbf16>
  fsdp.release @u(%w) : tensor<8x4xbf16>
  // CHECK: %[[G2:.*]] = step.buffer gather 64 "gathered.u"
  // CHECK: %[[K1:.*]] = step.view %[[K]][0] : memref<16xbf16>
  // CHECK: step.all_gather_start @u into %[[G2]] over @reshard.2 from %[[K1]] : memref<16xbf16> {step.phase = "backward", step.unit = "u"}
  %t2 = fsdp.all_gather_start @u backward over @reshard.2 from %k : tensor<16xbf16>
  %w2 = fsdp.all_gather_wait %t2 : tensor<8x4xbf16>
  fsdp.release @u(%w2) : tensor<8x4xbf16>
  // CHECK: step.copy %{{.*}} into %[[PLACE:[0-9]+]]
  // CHECK-NOT: step.copy
  // CHECK: step.accumulate %{{.*}} in %{{.*}} {step.phase = {{.*}} : memref<32xf32>, memref<32xf32>
  // CHECK: step.reduce_scatter_start @u %{{.*}} into %{{.*}} over @shard {step.last, {{.*}} : (memref<32xf32>, memref<8xf32>)
  // CHECK-NEXT: step.wait {{.*}} {step.last
  // CHECK: step.reduce_scatter_start @u %{{.*}} into %{{.*}} over @replicate {step.last, {{.*}} : (memref<8xf32>, memref<4xf32>)
  // CHECK-NEXT: step.wait {{.*}} {step.last
  %f = fsdp.flat_gradients @u(%dw) : (tensor<8x4xf32>) -> tensor<32xf32>
  %a = fsdp.accumulate %f in f32 : tensor<32xf32>
  %s = fsdp.reduce_scatter_start @u %a over @shard last : tensor<32xf32>
  %r = fsdp.reduce_scatter_wait %s : tensor<8xf32>
  %s2 = fsdp.reduce_scatter_start @u %r over @replicate last : tensor<8xf32>
  %g = fsdp.reduce_scatter_wait %s2 : tensor<4xf32>
  // The loss is an input here: what accumulates it is a copy.
  // CHECK: step.copy
  // CHECK: step.accumulate %{{.*}} in %{{.*}} : memref<f64>, memref<f64>
  %l = fsdp.accumulate %loss in f64 : tensor<f64>
  // CHECK: step.gradient_norm
  // CHECK: step.all_reduce_start(%{{[0-9]+}}, %{{[0-9]+}}) over @shard {norms = array<i1: false, true>, step.phase = "optimizer"
  // CHECK: step.all_reduce_start(%{{[0-9]+}}, %{{[0-9]+}}) over @replicate {norms = array<i1: false, true>, step.phase = "optimizer"
  %n = fsdp.gradient_norm %g : (tensor<4xf32>) -> tensor<68xi64>
  %e_l = fsdp.exact_sum %l : tensor<f64> -> tensor<68xi64>
  %b = fsdp.all_reduce_start optimizer(%e_l, %n) over @shard {norms = array<i1: false, true>} : tensor<68xi64>, tensor<68xi64>
  %m:2 = fsdp.all_reduce_wait %b : tensor<68xi64>, tensor<68xi64>
  %b2 = fsdp.all_reduce_start optimizer(%m#0, %m#1) over @replicate {norms = array<i1: false, true>} : tensor<68xi64>, tensor<68xi64>
  %m2:2 = fsdp.all_reduce_wait %b2 : tensor<68xi64>, tensor<68xi64>
  %f_m20 = fsdp.round_sum %m2#0 : tensor<68xi64> -> tensor<f64>
  fsdp.metric "loss" %f_m20 : tensor<f64>
  // CHECK: step.optimizer_step @u "sgd"
  %f_m21 = fsdp.round_sum %m2#1 norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_m21) "sgd" : tensor<4xf32>, tensor<f64>
  // CHECK: %[[U:.*]] = step.all_gather_updates_start @u over @replicate {step.phase = "optimizer"
  // CHECK-NEXT: step.wait %[[U]] {step.phase = "optimizer"
  %q = fsdp.all_gather_updates_start @u over @replicate
  fsdp.all_gather_updates_wait %q
  return
}

// -----

// Whole gradients: the flat buffer itself is summed, in place, and the norm reads all of it.
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64>, optimizer_dims = array<i64>, strategy = "none"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @w : tensor<8x4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 128 : i64, stored_type = f32, trainable}
fsdp.unit @u {parameters = [@w], offsets = array<i64: 0>, elements = 32 : i64, padding = 0 : i64, shards = 1 : i64, optimizer_shards = 1 : i64,
  reshard = 1 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = ""}
// CHECK-LABEL: strategy = "none"
// CHECK: %[[P:.*]] = step.buffer persistent 128 "u.parameters"
func.func @train(%x: tensor<4x4xf32> {nn.name = "x", nn.role = "input"}, %dy: tensor<4x8xf32> {nn.name = "dy", nn.role = "input"}) {
  // CHECK: %[[FLAT:.*]] = step.buffer gradient 128 "gradients.u"
  // CHECK: %[[W:.*]] = step.view %[[P]][0] : memref<8x4xf32>
  // CHECK: step.gemm %{{.*}}, %[[W]] into
  %w = fsdp.resident @u : tensor<8x4xf32>
  %y = nn.linear %x, %w {transpose_weight} : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
  // CHECK: %[[DW:.*]] = step.view %[[FLAT]][0] : memref<8x4xf32>
  // CHECK: step.gemm {{.*}} into %[[DW]]
  %dw = nn.linear_weight_grad %x, %y {transpose_weight} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NOT: step.copy
  // CHECK: %[[WHOLE:.*]] = step.view %[[FLAT]][0] : memref<32xf32>
  // CHECK: step.all_reduce_start @u(%[[WHOLE]]) over @world {norms = array<i1: false>
  %f = fsdp.flat_gradients @u(%dw) : (tensor<8x4xf32>) -> tensor<32xf32>
  %s = fsdp.all_reduce_gradients_start @u %f over @world : tensor<32xf32>
  %r = fsdp.all_reduce_gradients_wait %s : tensor<32xf32>
  // CHECK: %[[SUM:.*]] = step.view %[[FLAT]][0] : memref<32xf32>
  // CHECK: step.accumulate %[[SUM]] in
  %g = fsdp.accumulate %r in f32 : tensor<32xf32>
  // CHECK: step.gradient_norm(%{{.*}}) into %{{.*}} {
  %n = fsdp.gradient_norm %g : (tensor<32xf32>) -> tensor<68xi64>
  %f_n = fsdp.round_sum %n norm : tensor<68xi64> -> tensor<f64>
  fsdp.optimizer_step @u(%g, %f_n) "adam" : tensor<32xf32>, tensor<f64>
  return
}

// -----

// A slice that a kernel reads in place is no copy, also where what it is cut from is one.
module @kernels {
  func.func private @sum(tensor<2x3x64xf32> {step.strides = array<i64: 704, 64, 1>}) -> tensor<f32>
}
// CHECK: func.func private @sum
func.func @train(%x: tensor<2x11x64xf32> {nn.name = "x", nn.role = "input"}, %y: tensor<11x2x64xf32> {nn.name = "y", nn.role = "input"}) {
  // CHECK-NOT: step.copy
  // CHECK: %[[S:.*]] = step.view %{{.*}}[512] : memref<2x3x64xf32, strided<[704, 64, 1]>>
  // CHECK: step.launch @kernels::@sum(%[[S]])
  %s = nn.slice %x [0, 2, 0] to [2, 5, 64] by [1, 1, 1] {step.separate, step.in_place} : (tensor<2x11x64xf32>) -> tensor<2x3x64xf32>
  %0 = step.call @kernels::@sum(%s) : (tensor<2x3x64xf32>) -> tensor<f32>
  // CHECK: %[[COPY:.*]] = step.buffer activation 5632
  // CHECK: step.copy
  // CHECK: %[[T:.*]] = step.view %[[COPY]][256] : memref<2x3x64xf32, strided<[704, 64, 1]>>
  // CHECK: step.launch @kernels::@sum(%[[T]])
  %t = nn.transpose %y [1, 0, 2] : (tensor<11x2x64xf32>) -> tensor<2x11x64xf32>
  %u = nn.slice %t [0, 1, 0] to [2, 4, 64] by [1, 1, 1] {step.separate, step.in_place} : (tensor<2x11x64xf32>) -> tensor<2x3x64xf32>
  %1 = step.call @kernels::@sum(%u) : (tensor<2x3x64xf32>) -> tensor<f32>
  fsdp.metric "a" %0 : tensor<f32>
  fsdp.metric "b" %1 : tensor<f32>
  return
}

// -----

// A dim of one element has the row-major stride of what is cut, whatever it has in the buffer.
module @kernels {
  func.func private @sum(tensor<1x4x64xf32> {step.strides = array<i64: 512, 128, 1>}) -> tensor<f32>
}
// CHECK: func.func private @sum
func.func @train(%x: tensor<1x14x64xf32> {nn.name = "x", nn.role = "input"}) {
  // CHECK: step.view %{{.*}}[256] : memref<1x4x64xf32, strided<[512, 128, 1]>>
  %p = nn.slice %x [0, 1, 0] to [1, 9, 64] by [1, 1, 1] {step.separate} : (tensor<1x14x64xf32>) -> tensor<1x8x64xf32>
  %s = nn.slice %p [0, 0, 0] to [1, 8, 64] by [1, 2, 1] {step.separate, step.in_place} : (tensor<1x8x64xf32>) -> tensor<1x4x64xf32>
  %0 = step.call @kernels::@sum(%s) : (tensor<1x4x64xf32>) -> tensor<f32>
  fsdp.metric "a" %0 : tensor<f32>
  return
}
