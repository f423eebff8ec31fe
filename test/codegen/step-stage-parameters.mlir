// RUN: shardc-opt %s -split-input-file -step-stage-parameters -step-plan-memory -step-verify | FileCheck %s
// RUN: not shardc-opt %s -split-input-file -step-plan-memory -step-verify 2>&1 | FileCheck %s --check-prefix=WITHOUT

// By cpu's rates a slice of 4 MB comes in 2 ms, and a fill of 120 MB takes 6. The first one begins with the program; the second one
// comes behind the first fill, in time for its gather. What lies in memory is gathered from there.
// WITHOUT: gathers slices that lie in the pool host: expects what a transfer brought of them
fsdp.group @world {stride = 1 : i64, size = 2 : i64}
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 2000000 : i64, padding = 2000000 : i64, shards = 2 : i64,
  optimizer_shards = 0 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
fsdp.unit @b {parameters = [], offsets = array<i64>, elements = 2000000 : i64, padding = 2000000 : i64, shards = 2 : i64,
  optimizer_shards = 0 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
fsdp.unit @c {parameters = [], offsets = array<i64>, elements = 64 : i64, padding = 64 : i64, shards = 2 : i64,
  optimizer_shards = 0 : i64, reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
// CHECK: %[[A:.*]] = step.buffer state 4000000 at 0 "a.parameters"
// CHECK: %[[B:.*]] = step.buffer state 4000000 at 4001792 "b.parameters"
step.plan {
  %ap = step.buffer state 4000000 "a.parameters"
  %bp = step.buffer state 4000000 "b.parameters"
  %cp = step.buffer persistent 128 "c.parameters"
  step.storage @a %ap
  step.storage @b %bp
  step.storage @c %cp
  step.program "eval" {
    // CHECK: step.buffer staging 4000000 at {{[0-9]+}} "staged.a.parameters"
    // CHECK: %[[TA:.*]] = step.transfer_start
    // CHECK: step.wait %[[TA]]
    // CHECK: step.all_gather_start @a into %{{.*}} over @world from %{{.*}} : memref<1000000xf32>
    // CHECK: step.fill 1.0
    // CHECK: step.buffer staging 4000000 at {{[0-9]+}} "staged.b.parameters"
    // CHECK: %[[TB:.*]] = step.transfer_start
    // CHECK: step.fill 2.0
    // CHECK: step.wait %[[TB]]
    // CHECK: step.all_gather_start @b into %{{.*}} over @world from
    // CHECK: step.all_gather_start @c into %{{[0-9]+}} over @world {
    // CHECK-NOT: step.transfer_start
    %xb = step.buffer activation 120000000 "x"
    %x = step.view %xb[0] : memref<30000000xf32>
    %ag = step.buffer gather 8000000 "gathered.a"
    %at = step.all_gather_start @a into %ag over @world {step.phase = "forward", step.unit = "a"}
    step.wait %at {step.phase = "forward", step.unit = "a"}
    step.fill 1.0 into %x {step.phase = "forward", step.unit = "a"} : memref<30000000xf32>
    step.fill 2.0 into %x {step.phase = "forward", step.unit = "a"} : memref<30000000xf32>
    %bg = step.buffer gather 8000000 "gathered.b"
    %bt = step.all_gather_start @b into %bg over @world {step.phase = "forward", step.unit = "b"}
    step.wait %bt {step.phase = "forward", step.unit = "b"}
    %cg = step.buffer gather 256 "gathered.c"
    %ct = step.all_gather_start @c into %cg over @world {step.phase = "forward", step.unit = "c"}
    step.wait %ct {step.phase = "forward", step.unit = "c"}
  }
}

// -----

// What the rank has whole comes to be read: once for reads with no pause that is longer than a transfer, and again behind
// 6 ms of a fill.
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 1000000 : i64, padding = 1000000 : i64, shards = 1 : i64,
  optimizer_shards = 0 : i64, reshard = 1 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
step.plan {
  %ap = step.buffer state 4000000 "a.parameters"
  step.storage @a %ap
  // CHECK: elements = 1000000 : i64
  // CHECK: step.program "eval"
  step.program "eval" {
    // CHECK: %[[S:[0-9]+]] = step.buffer staging 4000000 at {{[0-9]+}} "staged.a.parameters"
    // CHECK: %[[T:[0-9]+]] = step.transfer_start
    // CHECK: %[[R:[0-9]+]] = step.view %[[S]][0] : memref<1000xf32>
    // CHECK: step.wait %[[T]]
    // CHECK: step.copy %[[R]] into
    // CHECK: step.copy %[[R]] into
    // CHECK-NOT: step.transfer_start
    // CHECK: step.fill 1.0
    // CHECK: step.buffer staging 4000000 at {{[0-9]+}} "staged.a.parameters"
    // CHECK: %[[U:[0-9]+]] = step.transfer_start
    // CHECK: step.fill 2.0
    // CHECK: step.wait %[[U]]
    // CHECK: step.copy
    %xb = step.buffer activation 120000000 "x"
    %x = step.view %xb[0] : memref<30000000xf32>
    %few = step.view %xb[0] : memref<1000xf32>
    %p = step.view %ap[0] : memref<1000xf32>
    step.copy %p into %few {step.phase = "forward", step.unit = "a"} : (memref<1000xf32>, memref<1000xf32>) -> ()
    step.copy %p into %few {step.phase = "forward", step.unit = "a"} : (memref<1000xf32>, memref<1000xf32>) -> ()
    step.fill 1.0 into %x {step.phase = "forward", step.unit = "a"} : memref<30000000xf32>
    step.fill 2.0 into %x {step.phase = "forward", step.unit = "a"} : memref<30000000xf32>
    step.copy %p into %few {step.phase = "forward", step.unit = "a"} : (memref<1000xf32>, memref<1000xf32>) -> ()
  }
}
