// RUN: shardc-opt %s -split-input-file -verify-diagnostics -step-offload=offload=optimizer

fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 64 : i64, padding = 64 : i64, shards = 1 : i64,
  optimizer_shards = 1 : i64, reshard = 1 : i64, element_type = bf16, master_type = f32, gradient_type = f32, reason = "root"}
step.plan {
  %p = step.buffer persistent 128 "a.parameters"
  %r = step.buffer persistent 136 "a.remainder"
  %s = step.buffer persistent 256 "a.state0"
  step.storage @a %p remainder %r states %s
  step.program "train" {
    %gb = step.buffer gradient 256 "gradient"
    %g = step.view %gb[0] : memref<64xf32>
    %nb = step.buffer activation 8 "norm"
    %n = step.view %nb[0] : memref<f64>
    // expected-error @+1 {{has split masters, which cannot be in the pool host}}
    step.optimizer_step @a "lion" (%g, %n) : (memref<64xf32>, memref<f64>) -> ()
  }
}

// -----

fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 64 : i64, padding = 64 : i64, shards = 1 : i64,
  optimizer_shards = 1 : i64, reshard = 1 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
step.plan {
  %p = step.buffer persistent 256 "a.parameters"
  %s = step.buffer persistent 256 "a.state0"
  step.storage @a %p states %s
  step.program "train" {
    %gb = step.buffer gradient 256 "gradient"
    %g = step.view %gb[0] : memref<64xf32>
    %nb = step.buffer activation 8 "norm"
    %n = step.view %nb[0] : memref<f64>
    // expected-error @+1 {{takes whole matrices, whose state cannot be in the pool host}}
    step.optimizer_step @a "muon" (%g, %n) along %g : (memref<64xf32>, memref<f64>, memref<64xf32>) -> ()
  }
}
