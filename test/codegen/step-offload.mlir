// RUN: shardc-opt %s -split-input-file -verify-diagnostics -step-offload="offload=optimizer part=32768" -step-plan-memory -step-verify | FileCheck %s
// RUN: shardc-opt %s -split-input-file -step-offload | FileCheck %s --check-prefix=NONE

// Masters and states leave; parameters stay. A unit of 10000 elements a rank is updated 4096 at a time (the least there is), in memory
// for two parts: the third comes when the first has gone. The first two begin to come before the norm.
// NONE: step.buffer persistent 40000 "a.state0"
// NONE-NOT: step.transfer_start
// A SIZE that is smaller than the unit's state leaves it where it is.
// RUN: shardc-opt %s -split-input-file -step-offload="offload=optimizer=79999" | FileCheck %s --check-prefix=NONE
// CHECK: %[[P:.*]] = step.buffer persistent 20000 at 0 "a.parameters"
// CHECK: %[[M:.*]] = step.buffer state 40000 at 0 "a.master"
// CHECK: %[[S:.*]] = step.buffer state 40000 at 40960 "a.state0"
// CHECK: step.storage @a %[[P]] master %[[M]] states %[[S]]
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 20000 : i64, padding = 20000 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = "root"}
step.plan {
  %p = step.buffer persistent 20000 "a.parameters"
  %m = step.buffer persistent 40000 "a.master"
  %s = step.buffer persistent 40000 "a.state0"
  step.storage @a %p master %m states %s
  step.program "train" {
    // CHECK: step.fill
    // CHECK: step.transfer_start
    // CHECK-SAME: step.phase = "optimizer"
    // CHECK: step.transfer_start
    // CHECK: step.transfer_start
    // CHECK: step.transfer_start
    // CHECK: step.fill 0.0
    // CHECK-SAME: memref<f64>
    // CHECK-COUNT-2: step.wait
    // CHECK: step.optimizer_step @a "lion"(%{{.*}}, %{{.*}}) master %{{.*}} states %{{.*}} {step.phase = "optimizer"
    // CHECK-SAME: memref<4096xf32>, memref<f64>, memref<4096xf32>, memref<4096xf32>
    // CHECK-COUNT-2: step.transfer_start
    // CHECK-COUNT-2: step.wait
    // CHECK: step.optimizer_step
    // CHECK-SAME: begin = 4096 : i64
    // CHECK-COUNT-2: step.transfer_start
    // CHECK-COUNT-2: step.wait
    // CHECK-COUNT-2: step.transfer_start
    // CHECK-COUNT-4: step.wait
    // CHECK: step.optimizer_step
    // CHECK-SAME: begin = 8192 : i64
    // CHECK-SAME: memref<1808xf32>, memref<f64>, memref<1808xf32>, memref<1808xf32>
    // CHECK-COUNT-2: step.transfer_start
    // CHECK-COUNT-2: step.wait
    // CHECK-NOT: step.transfer_start
    %gb = step.buffer gradient 40000 "gradient"
    %g = step.view %gb[0] : memref<10000xf32>
    step.fill 1.0 into %g {step.phase = "backward"} : memref<10000xf32>
    %nb = step.buffer activation 8 "norm"
    %n = step.view %nb[0] : memref<f64>
    step.fill 0.0 into %n {step.phase = "optimizer"} : memref<f64>
    step.optimizer_step @a "lion" (%g, %n) {step.phase = "optimizer", step.unit = "a"} : (memref<10000xf32>, memref<f64>) -> ()
  }
}
// What is alive at once takes 20032 + 80000 bytes between steps (at multiples of 64), 40008 in the step.
// RUN: shardc-opt %s -split-input-file -step-offload="offload=auto memory-limit=140040" | FileCheck %s --check-prefix=NONE
// RUN: shardc-opt %s -split-input-file -step-offload="offload=auto memory-limit=140039" | FileCheck %s --check-prefix=AUTO
// AUTO: step.buffer state 40000 "a.state0"
