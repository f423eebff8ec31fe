// RUN: shardc-opt %s --step-schedule=prefetch=auto --step-plan-memory --step-verify | FileCheck %s
// RUN: shardc-opt %s --step-schedule="prefetch=auto memory-limit=1400B" | FileCheck %s --check-prefix=LEAN
// RUN: shardc-opt %s --step-schedule=prefetch=3 | FileCheck %s --check-prefix=SAME
// RUN: not shardc-opt %s --step-schedule=prefetch=soon 2>&1 | FileCheck %s --check-prefix=PREFETCH
// RUN: not shardc-opt %s --step-schedule="prefetch=auto memory-limit=much" 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not shardc-opt %s --step-schedule="prefetch=auto cluster=none" 2>&1 | FileCheck %s --check-prefix=CLUSTER

// PREFETCH: error: prefetch soon: expected auto, or the number of units to gather ahead, 0 to 64, as N or forward=N,backward=M
// LIMIT: error: memory-limit much: expected a number of bytes
// CLUSTER: error: {{.*}}none

// Two units of 256 floats, forward and backward. On a machine where a gather's latency is longer than any product, both are
// gathered at once, and once: backward finds them where forward left them.
// CHECK: fsdp.unit @a {{.*}}reshard = 1 : i64
// CHECK: fsdp.unit @b {{.*}}reshard = 1 : i64
// CHECK: step.program "train"
// CHECK: step.all_gather_start @a
// CHECK-NOT: step.wait
// CHECK: step.all_gather_start @b
// CHECK: step.wait
// CHECK-NOT: step.all_gather_start

// One unit at a time: the last one is held, since backward begins with it.
// LEAN: fsdp.unit @a {{.*}}reshard = 2 : i64
// LEAN: fsdp.unit @b {{.*}}reshard = 1 : i64
// LEAN: step.all_gather_start @a
// LEAN: step.wait
// LEAN: step.copy
// LEAN: step.all_gather_start @b
// LEAN: step.wait
// LEAN: step.copy
// LEAN: step.copy
// LEAN: step.all_gather_start @a
// LEAN-NOT: step.all_gather_start

// SAME: step.all_gather_start @a
// SAME-NEXT: step.wait
// SAME: step.all_gather_start @b
// SAME-NEXT: step.wait
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 256 : i64, padding = 256 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "a"}
fsdp.unit @b {parameters = [], offsets = array<i64>, elements = 256 : i64, padding = 256 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "b"}
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
step.plan {
  step.program "train" {
    %y = step.buffer activation 256 "y"
    %yv = step.view %y[0] : memref<64xf32>
    %a0 = step.buffer gather 1024 "gathered.a"
    %t0 = step.all_gather_start @a into %a0 over @world
    step.wait %t0
    %v0 = step.view %a0[0] : memref<64xf32>
    step.copy %v0 into %yv : (memref<64xf32>, memref<64xf32>) -> ()
    %b0 = step.buffer gather 1024 "gathered.b"
    %t1 = step.all_gather_start @b into %b0 over @world
    step.wait %t1
    %v1 = step.view %b0[0] : memref<64xf32>
    step.copy %v1 into %yv : (memref<64xf32>, memref<64xf32>) -> ()
    %b1 = step.buffer gather 1024 "gathered.b"
    %t2 = step.all_gather_start @b into %b1 over @world
    step.wait %t2
    %v2 = step.view %b1[0] : memref<64xf32>
    step.copy %v2 into %yv : (memref<64xf32>, memref<64xf32>) -> ()
    %a1 = step.buffer gather 1024 "gathered.a"
    %t3 = step.all_gather_start @a into %a1 over @world
    step.wait %t3
    %v3 = step.view %a1[0] : memref<64xf32>
    step.copy %v3 into %yv : (memref<64xf32>, memref<64xf32>) -> ()
  }
}
