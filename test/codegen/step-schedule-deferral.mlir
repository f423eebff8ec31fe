// RUN: shardc-opt %s --step-schedule=prefetch=auto --step-plan-memory --step-verify | FileCheck %s

// The gradients of the last unit's reduction need that of the activations alone: the larger product for @block's weights is
// computed behind its start. @block's own reduction, and its wait, follow.
// CHECK: step.program "train"
// CHECK: step.copy {{.*}}1024xf32
// CHECK: step.copy {{.*}}1024xf32
// CHECK: step.reduce_scatter_start @embedding
// CHECK: step.gemm
// CHECK: step.reduce_scatter_start @block
// CHECK: step.wait
// CHECK: step.wait
// CHECK: step.fill

fsdp.unit @block {parameters = [], offsets = array<i64>, elements = 262144 : i64, padding = 262144 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "b"}
fsdp.unit @embedding {parameters = [], offsets = array<i64>, elements = 1024 : i64, padding = 1024 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "e"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
step.plan {
  %x = step.buffer persistent 1048576 "x"
  %xv = step.view %x[0] : memref<512x512xf32>
  %x0 = step.view %x[0] : memref<1024xf32>
  step.program "train" {
    %d = step.buffer activation 4096 "d"
    %fa = step.buffer gradient 1048576 "gradients.block"
    %sa = step.buffer gradient 524288 "gradient_shard.block"
    %fe = step.buffer gradient 4096 "gradients.embedding"
    %se = step.buffer gradient 2048 "gradient_shard.embedding"
    %dv = step.view %d[0] : memref<1024xf32>
    %fav = step.view %fa[0] : memref<512x512xf32>
    %faf = step.view %fa[0] : memref<262144xf32>
    %sav = step.view %sa[0] : memref<131072xf32>
    %fev = step.view %fe[0] : memref<1024xf32>
    %sev = step.view %se[0] : memref<512xf32>
    step.copy %x0 into %dv {step.phase = "backward"} : (memref<1024xf32>, memref<1024xf32>) -> ()
    step.gemm %xv, %xv into %fav {step.phase = "backward", step.flops = 268435456 : i64}
        : (memref<512x512xf32>, memref<512x512xf32>, memref<512x512xf32>) -> ()
    %ta = step.reduce_scatter_start @block %faf into %sav over @world {step.phase = "backward"}
        : (memref<262144xf32>, memref<131072xf32>) -> !step.token
    step.copy %dv into %fev {step.phase = "backward"} : (memref<1024xf32>, memref<1024xf32>) -> ()
    %te = step.reduce_scatter_start @embedding %fev into %sev over @world {step.phase = "backward"}
        : (memref<1024xf32>, memref<512xf32>) -> !step.token
    step.wait %ta {step.phase = "backward"}
    step.wait %te {step.phase = "backward"}
    step.fill 0.0 into %sev {step.phase = "optimizer"} : memref<512xf32>
    step.copy %sav into %sav {step.phase = "optimizer"} : (memref<131072xf32>, memref<131072xf32>) -> ()
  }
}
