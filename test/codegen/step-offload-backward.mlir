// RUN: shardc-opt %s -step-offload="offload=optimizer part=32768" -step-plan-memory -step-verify | FileCheck %s

// Units that are updated in backward: what backward computes hides transfers. A part of two milliseconds
// of the disk's 2 GB/s has 499712 elements. The first two come within four, as long as to fill 6 MB and 120 MB takes, and are updated
// then; the third one comes when the first has gone, within four more of the next 120 MB.
// CHECK: step.fill 2.0
// CHECK-COUNT-4: step.transfer_start
// CHECK: step.fill 3.0
// CHECK: step.fill 4.0
// CHECK: step.optimizer_step @a "lion"(%{{[0-9]+}}) master %{{.*}} states
// CHECK-COUNT-2: step.transfer_start
// CHECK: step.optimizer_step
// CHECK-SAME: begin = 499712 : i64
// CHECK-COUNT-2: step.transfer_start
// CHECK-COUNT-2: step.wait
// CHECK-COUNT-2: step.transfer_start
// CHECK: step.fill 5.0
// CHECK: step.optimizer_step
// CHECK-SAME: begin = 999424 : i64
// CHECK: step.fill 6.0
fsdp.mesh @mesh {dims = array<i64: 2>, names = ["shard"], shard_dims = array<i64: 0>, optimizer_dims = array<i64: 0>, strategy = "full"}
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 2998272 : i64, padding = 2998272 : i64, shards = 2 : i64,
  optimizer_shards = 2 : i64, reshard = 2 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = "root"}
step.plan {
  %p = step.buffer persistent 2998272 "a.parameters"
  %m = step.buffer persistent 5996544 "a.master"
  %s = step.buffer persistent 5996544 "a.state0"
  step.storage @a %p master %m states %s
  step.program "train" {
    %gb = step.buffer gradient 5996544 "gradient"
    %g = step.view %gb[0] : memref<1499136xf32>
    %xb = step.buffer activation 120000000 "x"
    %x = step.view %xb[0] : memref<30000000xf32>
    step.fill 2.0 into %x {step.phase = "forward"} : memref<30000000xf32>
    step.fill 3.0 into %g {step.phase = "backward"} : memref<1499136xf32>
    step.optimizer_step @a "lion" (%g) {step.phase = "optimizer", step.unit = "a"} : (memref<1499136xf32>) -> ()
    step.fill 4.0 into %x {step.phase = "backward"} : memref<30000000xf32>
    step.fill 5.0 into %x {step.phase = "backward"} : memref<30000000xf32>
    step.fill 6.0 into %x {step.phase = "backward"} : memref<30000000xf32>
  }
}
