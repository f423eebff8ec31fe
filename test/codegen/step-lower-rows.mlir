// Rows of a table that travel, and units that stay gathered over micro-batches.
// RUN: shardc-opt %s -step-lower -step-plan-memory -step-verify | FileCheck %s

fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
nn.parameter @table : tensor<10x4xbf16> {initializer = "t", file = "", offset = 0 : i64, length = 160 : i64, stored_type = f32, trainable}
nn.parameter @w : tensor<4x4xbf16> {initializer = "w", file = "", offset = 0 : i64, length = 64 : i64, stored_type = f32, trainable}
fsdp.unit @rows {parameters = [@table], offsets = array<i64: 0>, elements = 40 : i64, padding = 0 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = ""}
fsdp.unit @kept {parameters = [@w], offsets = array<i64: 0>, elements = 16 : i64, padding = 0 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 1 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = "", stays}

// Ids of both ranks (256), two slices of 40 bytes and two parts of 3 x 4 elements (each 256); ids, two parts, and two slices of
// 20 floats. The ids are read where they lie.
func.func @train(%ids: tensor<3xi64> {nn.name = "ids", nn.role = "input"}) {
  // CHECK: step.program "train"
  // CHECK: step.buffer gather 32 at [[KEPT:[0-9]+]] "gathered.kept"
  // CHECK: %[[K:.*]] = step.all_gather_start @kept into {{.*}} {step.first, step.phase = "forward", step.unit = "kept"}
  %k = fsdp.all_gather_start @kept forward over @world first
  // CHECK: step.wait %[[K]] {step.first
  %w = fsdp.all_gather_wait %k : tensor<4x4xbf16>
  // CHECK: %[[S:.*]] = step.view %{{.*}}[0] : memref<1280xui8>
  // CHECK: %[[T:.*]] = step.gather_rows_start @rows(%{{.*}}) into %{{.*}} over @world workspace %[[S]] {step.phase = "forward", step.unit = "rows"}
  // CHECK-SAME: (memref<3xi64>, memref<3x4xbf16>, memref<1280xui8>) -> !step.token
  %t = fsdp.gather_rows_start @rows(%ids) over @world : tensor<3xi64>
  // CHECK: step.wait %[[T]]
  %x = fsdp.gather_rows_wait %t : tensor<3x4xbf16>
  %y = nn.linear %x, %w : (tensor<3x4xbf16>, tensor<4x4xbf16>) -> tensor<3x4xbf16>
  // CHECK: %[[R:.*]] = step.reduce_rows_start @rows(%{{.*}}, %{{.*}}) into %{{.*}} in %{{.*}} over @world workspace %{{.*}}step.unit = "rows"}
  // CHECK-SAME: (memref<3x4xbf16>, memref<3xi64>, memref<20xf32>, memref<20xf32>, memref<1280xui8>) -> !step.token
  %r = fsdp.reduce_rows_start @rows(%y, %ids) over @world accumulated : tensor<3x4xbf16>, tensor<3xi64>
  // CHECK: step.wait %[[R]]
  %g = fsdp.reduce_scatter_wait %r : tensor<20xf32>
  fsdp.release @kept(%w) : tensor<4x4xbf16>
  return
}
