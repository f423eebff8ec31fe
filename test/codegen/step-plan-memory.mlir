// RUN: shardc-opt %s -step-plan-memory -step-verify | FileCheck %s

// Gradients live when activations are dead, in the same pool.
// CHECK: step.plan attributes {kind_bytes = array<i64: 128, 256, 0, 192, 0, 64, 0, 0, 0>, live_bound_bytes = 384 : i64,
// CHECK-SAME: pool_bytes = array<i64: 128, 256, 0, 64, 0>}
fsdp.unit @root {parameters = [], offsets = array<i64>, elements = 16 : i64, padding = 16 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
step.plan {
  // Persistent buffers lie one after the other, at multiples of 64.
  // CHECK: step.buffer persistent 20 at 0 "x"
  // CHECK: step.buffer persistent 64 at 64 "p"
  %x = step.buffer persistent 20 "x"
  %p = step.buffer persistent 64 "p"
  // So do sums over micro-batches, in a pool that a run with one per step does without: it is no part of the bound.
  // CHECK: step.buffer accumulation 48 at 0 "sum"
  %sum = step.buffer accumulation 48 "sum"
  step.program "train" {
    // CHECK: step.program "train"
    // a and b meet; c begins when a is dead, and takes its place.
    // CHECK: step.buffer activation 128 at [[A:[0-9]+]] "a"
    // CHECK: step.buffer activation 128 at {{[0-9]+}} "b"
    // CHECK: step.buffer activation 128 at [[A]] "c"
    // CHECK-NOT: "unused"
    %a = step.buffer activation 128 "a"
    %b = step.buffer activation 128 "b"
    %c = step.buffer activation 128 "c"
    %unused = step.buffer activation 4096 "unused"
    // The reduce-scatter reads the flat gradient until the wait: what begins between start and wait may not have its bytes.
    // CHECK: step.buffer gradient 64 at [[FLAT:[0-9]+]] "flat"
    // CHECK: step.buffer gradient 64 at {{[0-9]+}} "shard"
    // CHECK: step.buffer gradient 64 at {{[0-9]+}} "between"
    // CHECK: step.buffer gradient 64 at [[FLAT]] "after"
    %flat = step.buffer gradient 64 "flat"
    %shard = step.buffer gradient 64 "shard"
    %between = step.buffer gradient 64 "between"
    %after = step.buffer gradient 64 "after"
    %xv = step.view %x[0] : memref<5xf32>
    %a0 = step.view %a[0] : memref<32xf32>
    %b0 = step.view %b[0] : memref<32xf32>
    %c0 = step.view %c[0] : memref<32xf32>
    step.fill 1.0 into %a0 : memref<32xf32>
    step.copy %a0 into %b0 : (memref<32xf32>, memref<32xf32>) -> ()
    step.copy %b0 into %c0 : (memref<32xf32>, memref<32xf32>) -> ()
    %f0 = step.view %flat[0] : memref<16xf32>
    %m0 = step.view %between[0] : memref<16xf32>
    %e0 = step.view %after[0] : memref<16xf32>
    %s0 = step.view %shard[0] : memref<16xf32>
    step.fill 0.0 into %f0 : memref<16xf32>
    %t = step.reduce_scatter_start @root %f0 into %s0 over @world : (memref<16xf32>, memref<16xf32>) -> !step.token
    step.fill 0.0 into %m0 : memref<16xf32>
    step.wait %t
    step.copy %m0 into %e0 : (memref<16xf32>, memref<16xf32>) -> ()
    step.copy %s0 into %e0 : (memref<16xf32>, memref<16xf32>) -> ()
  }
  // The programs share the pools.
  step.program "eval" {
    // CHECK: step.program "eval"
    // CHECK: step.buffer activation 256 at 0 "d"
    %d = step.buffer activation 256 "d"
    %d0 = step.view %d[0] : memref<64xf32>
    step.fill 1.0 into %d0 : memref<64xf32>
  }
}
