// RUN: shardc-opt %s -step-offload="offload=activations" -step-plan-memory -step-verify | FileCheck %s --check-prefixes=CHECK,HIDDEN
// RUN: shardc-opt %s -step-offload="offload=activations=4MB" -step-plan-memory -step-verify | FileCheck %s --check-prefixes=CHECK,HIDDEN
// RUN: shardc-opt %s -step-offload="offload=activations=400MB" -step-plan-memory -step-verify | FileCheck %s --check-prefixes=CHECK,FORCED
// RUN: shardc-opt %s -step-offload="offload=auto memory-limit=243MB" -step-plan-memory -step-verify | FileCheck %s --check-prefixes=CHECK,HIDDEN
// RUN: shardc-opt %s -step-offload="offload=auto memory-limit=247MB" | FileCheck %s --check-prefix=STAYS

// By cpu's rates 4 MB go to the disk in 2 ms, and a fill of 120 MB takes 6. %a leaves behind what writes it, and comes back, into a
// buffer of its own, before backward reads it: nobody waits. %s is too small for its latency, and %l too large to be back in time: with a
// SIZE they leave as well, and compute waits.
// STAYS-NOT: step.transfer_start
step.plan {
  step.program "train" {
    // CHECK: %[[A:.*]] = step.buffer activation 4000000 {{.*}}"a"
    // CHECK: step.fill 1.0
    // CHECK: %[[H:.*]] = step.buffer offloaded 4000000 at {{[0-9]+}} "offloaded.a"
    // CHECK: %[[FROM:.*]] = step.view %[[A]][0] : memref<1000000xf32>
    // CHECK: %[[TO:.*]] = step.view %[[H]][0] : memref<1000000xf32>
    // CHECK: %[[GO:.*]] = step.transfer_start %[[FROM]] into %[[TO]] {step.phase = "forward", step.unit = "u"}
    // FORCED: step.buffer offloaded 4000 {{.*}}"offloaded.s"
    // FORCED: step.buffer offloaded 120000000 {{.*}}"offloaded.l"
    // HIDDEN-NOT: step.transfer_start
    // HIDDEN: step.wait %[[GO]]
    // CHECK: step.fill 4.0
    // HIDDEN: step.fill 6.0
    // CHECK: %[[B:.*]] = step.buffer activation 4000000 {{.*}}"a"
    // CHECK: %[[BACK:.*]] = step.view %[[B]][0] : memref<1000000xf32>
    // CHECK: %[[COME:.*]] = step.transfer_start %{{.*}} into %[[BACK]] {step.phase = "backward", step.unit = "v"}
    // CHECK: %[[READ:.*]] = step.view %[[B]][0] : memref<1000x1000xf32>
    // CHECK: step.wait %[[COME]]
    // CHECK: step.copy %[[READ]]
    %ab = step.buffer activation 4000000 "a"
    %a = step.view %ab[0] : memref<1000x1000xf32>
    %sb = step.buffer activation 4000 "s"
    %s = step.view %sb[0] : memref<1000xf32>
    %lb = step.buffer activation 120000000 "l"
    %l = step.view %lb[0] : memref<30000000xf32>
    %xb = step.buffer activation 120000000 "x"
    %x = step.view %xb[0] : memref<30000000xf32>
    %gb = step.buffer gradient 4000000 "g"
    %g = step.view %gb[0] : memref<1000x1000xf32>
    step.fill 1.0 into %a {step.phase = "forward", step.unit = "u"} : memref<1000x1000xf32>
    step.fill 2.0 into %s {step.phase = "forward", step.unit = "u"} : memref<1000xf32>
    step.fill 3.0 into %l {step.phase = "forward", step.unit = "u"} : memref<30000000xf32>
    step.fill 4.0 into %x {step.phase = "forward", step.unit = "u"} : memref<30000000xf32>
    step.fill 5.0 into %x {step.phase = "backward", step.unit = "v"} : memref<30000000xf32>
    step.fill 6.0 into %x {step.phase = "backward", step.unit = "v"} : memref<30000000xf32>
    step.copy %l into %x {step.phase = "backward", step.unit = "v"} : (memref<30000000xf32>, memref<30000000xf32>) -> ()
    step.fill 7.0 into %x {step.phase = "backward", step.unit = "v"} : memref<30000000xf32>
    step.copy %a into %g {step.phase = "backward", step.unit = "v"} : (memref<1000x1000xf32>, memref<1000x1000xf32>) -> ()
    %tb = step.buffer activation 4000 "t"
    %t = step.view %tb[0] : memref<1000xf32>
    step.copy %s into %t {step.phase = "backward", step.unit = "v"} : (memref<1000xf32>, memref<1000xf32>) -> ()
  }
}
