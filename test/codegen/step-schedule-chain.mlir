// RUN: shardc-opt %s --step-schedule=prefetch=auto --step-plan-memory --step-verify | FileCheck %s

// Slices are reduced over a second dimension of the mesh. The product reads nothing of theirs, and they would be hidden behind
// it; but what the second reduction makes is read before.
// CHECK: step.reduce_scatter_start @a {{.*}} over @shard
// CHECK: step.wait
// CHECK: step.reduce_scatter_start @a {{.*}} over @replicate
// CHECK: step.wait
// CHECK: step.gradient_norm
// CHECK: step.gemm

fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 1024 : i64, padding = 1024 : i64, shards = 2 : i64,
  optimizer_shards = 4 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "a"}
fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
fsdp.group @replicate {stride = 2 : i64, size = 2 : i64}
step.plan {
  %x = step.buffer persistent 1048576 "x"
  %xv = step.view %x[0] : memref<512x512xf32>
  step.program "train" {
    %f = step.buffer gradient 4096 "gradients.a"
    %s = step.buffer gradient 2048 "gradient_shard.a"
    %p = step.buffer gradient 1024 "gradient_part.a"
    %l = step.buffer activation 1048576 "l"
    %n = step.buffer activation 544 "norm"
    %fv = step.view %f[0] : memref<1024xf32>
    %sv = step.view %s[0] : memref<512xf32>
    %pv = step.view %p[0] : memref<256xf32>
    %lv = step.view %l[0] : memref<512x512xf32>
    %nv = step.view %n[0] : memref<68xi64>
    step.fill 0.0 into %fv {step.phase = "backward"} : memref<1024xf32>
    %t0 = step.reduce_scatter_start @a %fv into %sv over @shard {step.phase = "backward"}
        : (memref<1024xf32>, memref<512xf32>) -> !step.token
    step.wait %t0 {step.phase = "backward"}
    %t1 = step.reduce_scatter_start @a %sv into %pv over @replicate {step.phase = "backward"}
        : (memref<512xf32>, memref<256xf32>) -> !step.token
    step.wait %t1 {step.phase = "backward"}
    step.gradient_norm(%pv) into %nv {units = [@a], step.phase = "optimizer"} : (memref<256xf32>, memref<68xi64>) -> ()
    step.gemm %xv, %xv into %lv {step.phase = "optimizer", step.flops = 268435456 : i64}
        : (memref<512x512xf32>, memref<512x512xf32>, memref<512x512xf32>) -> ()
    step.copy %lv into %lv {step.phase = "optimizer"} : (memref<512x512xf32>, memref<512x512xf32>) -> ()
  }
}
