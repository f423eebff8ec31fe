// RUN: shardc-opt %s -step-verify -split-input-file -verify-diagnostics

step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 0>} {
  step.program "overlap" {
    // expected-note @+1 {{the other buffer}}
    %a = step.buffer activation 128 at 0 "a"
    // expected-error @+1 {{shares bytes with buffer "a", which is alive at the same time}}
    %b = step.buffer activation 128 at 64 "b"
    %a0 = step.view %a[0] : memref<32xf32>
    %b0 = step.view %b[0] : memref<32xf32>
    step.fill 1.0 into %a0 : memref<32xf32>
    step.copy %a0 into %b0 : (memref<32xf32>, memref<32xf32>) -> ()
  }
}

// -----

step.plan attributes {pool_bytes = array<i64: 0, 64, 0, 0, 0>} {
  step.program "pool" {
    // expected-error @+1 {{ends at byte 128 of a pool of 64}}
    %a = step.buffer activation 128 at 0 "a"
    %a0 = step.view %a[0] : memref<32xf32>
    step.fill 1.0 into %a0 : memref<32xf32>
  }
}

// -----

step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 0>} {
  step.program "unwritten" {
    %a = step.buffer activation 128 at 0 "a"
    %b = step.buffer activation 128 at 128 "b"
    %half = step.view %a[0] : memref<16xf32>
    %a0 = step.view %a[0] : memref<32xf32>
    %b0 = step.view %b[0] : memref<32xf32>
    step.fill 1.0 into %half : memref<16xf32>
    // expected-error @+1 {{reads bytes [0, 128) of buffer "a" before they are written}}
    step.copy %a0 into %b0 : (memref<32xf32>, memref<32xf32>) -> ()
  }
}

// -----

step.plan attributes {pool_bytes = array<i64: 0, 0, 64, 0, 0>} {
  step.program "flight" {
    %g = step.buffer gather 64 at 0 "g"
    %g0 = step.view %g[0] : memref<16xf32>
    // expected-note @+1 {{begins here}}
    %t = step.all_gather_start @root into %g over @world
    // expected-error @+1 {{touches buffer "g" while a collective works on it}}
    step.fill 1.0 into %g0 : memref<16xf32>
    step.wait %t
  }
}

// -----

step.plan attributes {pool_bytes = array<i64: 0, 0, 64, 0, 0>} {
  step.program "no wait" {
    %g = step.buffer gather 64 at 0 "g"
    // expected-error @+1 {{expects one wait, got 0}}
    %t = step.all_gather_start @root into %g over @world
  }
}

// -----

step.plan {
  step.program "view" {
    %a = step.buffer activation 128 "a"
    // expected-error @+1 {{covers bytes [64, 192) of buffer "a", which has 128}}
    %a0 = step.view %a[64] : memref<32xf32>
    step.fill 1.0 into %a0 : memref<32xf32>
  }
}

// -----

step.plan {
  step.program "gemm" {
    %a = step.buffer activation 128 "a"
    %x = step.view %a[0] : memref<4x3xf32>
    %y = step.view %a[0] : memref<4x5xf32>
    %z = step.view %a[0] : memref<4x5xf32>
    // expected-error @+1 {{does not multiply 4x3 by 4x5 into}}
    step.gemm %x, %y into %z : (memref<4x3xf32>, memref<4x5xf32>, memref<4x5xf32>) -> ()
  }
}

// -----

// Strides are the types' own.
step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 0>} {
  step.program "rows of unit stride" {
    %a = step.buffer activation 256 at 0 "a"
    %x = step.view %a[0] : memref<4x3xf32, strided<[1, 4]>>
    %y = step.view %a[64] : memref<3x5xf32>
    %z = step.view %a[128] : memref<4x5xf32>
    // expected-error @+1 {{expects rows of unit stride, got 'memref<4x3xf32, strided<[1, 4]>>'}}
    step.gemm %x, %y into %z
      : (memref<4x3xf32, strided<[1, 4]>>, memref<3x5xf32>, memref<4x5xf32>) -> ()
  }
}

// -----

step.plan {
  step.program "types" {
    %a = step.buffer activation 128 "a"
    %x = step.view %a[0] : memref<4x3xbf16>
    %y = step.view %a[0] : memref<3x5xbf16>
    %z = step.view %a[0] : memref<4x5xf16>
    // expected-error @+1 {{expects operands and result of one element type, or a float32 result of 16-bit operands, got 'memref<4x3xbf16>', 'memref<3x5xbf16>' and 'memref<4x5xf16>'}}
    step.gemm %x, %y into %z : (memref<4x3xbf16>, memref<3x5xbf16>, memref<4x5xf16>) -> ()
  }
}

// -----

// Kernels of a GPU load 16 bytes at once.
module {
  module @kernels { func.func @k(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> } }
  step.plan attributes {argument_alignment = 16 : i64, pool_bytes = array<i64: 0, 128, 0, 0, 0>} {
    %a = step.buffer persistent 64 at 0 "a"
    step.program "unaligned" {
      %b = step.buffer activation 64 at 0 "b"
      %x = step.view %a[4] : memref<4xf32>
      %y = step.view %b[16] : memref<4xf32>
      // expected-error @+1 {{expects operands at multiples of 16 bytes, got one at byte 4 of its buffer}}
      step.launch @kernels::@k(%x) into (%y) : (memref<4xf32>) -> memref<4xf32>
    }
  }
}

// -----

// Buffers lie as the target's allocations do.
step.plan attributes {buffer_alignment = 256 : i64, pool_bytes = array<i64: 0, 128, 0, 0, 0>} {
  step.program "buffers" {
    // expected-error @+1 {{expects an offset that is a multiple of 256, got 64}}
    %a = step.buffer activation 64 at 64 "a"
    %a0 = step.view %a[0] : memref<16xf32>
    step.fill 1.0 into %a0 : memref<16xf32>
  }
}

// -----

// What is aligned in float32 need not be in bf16.
module {
  nn.parameter @w : tensor<4xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  nn.parameter @v : tensor<4xf32> {initializer = "v", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  // expected-error @+1 {{expects parameters at multiples of 16 bytes, got @v at byte 8}}
  fsdp.unit @root {parameters = [@w, @v], offsets = array<i64: 0, 4>, elements = 8 : i64,
                   padding = 0 : i64, shards = 1 : i64, optimizer_shards = 0 : i64,
                   reshard = 1 : i64, element_type = bf16, master_type = f32, gradient_type = f32,
                   reason = ""}
  step.plan attributes {argument_alignment = 16 : i64, pool_bytes = array<i64: 64, 0, 0, 0, 0>} {
    %p = step.buffer persistent 16 at 0 "root.parameters"
    step.storage @root %p
  }
}

// -----

module {
  nn.parameter @w : tensor<6xf32> {initializer = "w", file = "", offset = 0 : i64, length = 0 : i64, stored_type = f32, trainable}
  // expected-error @+1 {{expects slices of a multiple of 16 bytes, got 12}}
  fsdp.unit @root {parameters = [@w], offsets = array<i64: 0>, elements = 6 : i64,
                   padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                   reshard = 2 : i64, element_type = f32, master_type = f32, gradient_type = f32,
                   reason = ""}
  step.plan attributes {argument_alignment = 16 : i64, pool_bytes = array<i64: 64, 0, 0, 0, 0>} {
    %p = step.buffer persistent 12 at 0 "root.parameters"
    step.storage @root %p
  }
}

// -----

// A kept slice is read by the gather from it until the wait.
step.plan attributes {pool_bytes = array<i64: 0, 0, 192, 0, 0>} {
  step.program "kept" {
    %g = step.buffer gather 64 at 0 "g"
    %k = step.buffer gather 32 at 64 "k"
    %h = step.buffer gather 64 at 128 "h"
    %k0 = step.view %k[0] : memref<8xf32>
    %t = step.all_gather_start @root into %g over @world
    step.wait %t
    step.keep @root %g over @half into %k0 : memref<8xf32>
    // expected-note @+1 {{begins here}}
    %u = step.all_gather_start @root into %h over @half from %k0 : memref<8xf32>
    // expected-error @+1 {{touches buffer "k" while a collective works on it}}
    step.fill 1.0 into %k0 : memref<8xf32>
    step.wait %u
  }
}

// -----

step.plan attributes {pool_bytes = array<i64: 0, 0, 128, 0, 0>} {
  step.program "kept too early" {
    %g = step.buffer gather 64 at 0 "g"
    %k = step.buffer gather 32 at 64 "k"
    %k0 = step.view %k[0] : memref<8xf32>
    // expected-error @+1 {{reads bytes [0, 64) of buffer "g" before they are written}}
    step.keep @root %g over @half into %k0 : memref<8xf32>
  }
}

// -----

// What is added up must be there; the accumulator is of an earlier micro-batch.
step.plan attributes {pool_bytes = array<i64: 0, 64, 0, 64, 0>} {
  %sum = step.buffer accumulation 64 at 0 "sum"
  step.program "accumulate" {
    %a = step.buffer gradient 64 at 0 "a"
    %a0 = step.view %a[0] : memref<16xf32>
    %sum0 = step.view %sum[0] : memref<16xf32>
    // expected-error @+1 {{reads bytes [0, 64) of buffer "a" before they are written}}
    step.accumulate %a0 in %sum0 : memref<16xf32>, memref<16xf32>
  }
}

// -----

// expected-error @+1 {{expects the bytes of 5 pools; run step-plan-memory first}}
step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0>} {
  step.program "pools" {
  }
}

// -----

// Where ranks share memory, what is gathered is other ranks' parameters.
step.plan attributes {pool_bytes = array<i64: 0, 0, 64, 0, 0>} {
  step.program "gathered" {
    %g = step.buffer gather 64 at 0 "g"
    %gv = step.view %g[0] : memref<16xf32>
    %t = step.all_gather_start @root into %g over @world
    step.wait %t
    // expected-error @+1 {{writes to buffer "g", which only gathers may write to}}
    step.fill 0.0 into %gv : memref<16xf32>
  }
}

// -----

// A kernel may write over an input only where it reads each element for the element at its place.
module @kernels {
  func.func @turn(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = tensor.empty() : tensor<8x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 0>} {
  step.program "in place" {
    %a = step.buffer activation 256 at 0 "a"
    %a0 = step.view %a[0] : memref<8x8xf32>
    step.fill 1.0 into %a0 : memref<8x8xf32>
    // expected-error @+1 {{writes output 0 over input 0, of which it reads other elements or reads them later}}
    step.launch @kernels::@turn(%a0) into (%a0) : (memref<8x8xf32>) -> (memref<8x8xf32>)
  }
}

// -----

step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 0>} {
  step.program "onto" {
    %ids = step.buffer activation 64 at 0 "ids"
    %rows = step.buffer activation 64 at 64 "rows"
    %table = step.buffer activation 128 at 128 "table"
    %i = step.view %ids[0] : memref<2xi64>
    %r = step.view %rows[0] : memref<2x4xf32>
    %t = step.view %table[0] : memref<3x4xf32>
    %other = step.view %table[64] : memref<3x4xf32>
    // expected-error @+1 {{adds in place: expects base and table_gradient to be one view, got}}
    step.embedding_grad %r, %i onto %other into %t : (memref<2x4xf32>, memref<2xi64>, memref<3x4xf32>, memref<3x4xf32>) -> ()
  }
}

// -----

func.func @touches_views(%x: memref<16xf32>) {
  // expected-error @+1 {{expects operand 0 to be a step.view}}
  step.fill 1.0 into %x : memref<16xf32>
  return
}

// -----

// Nothing but transfers touches the pool host.
step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 4096>} {
  %h = step.buffer state 64 at 0 "state"
  step.program "train" {
    %hv = step.view %h[0] : memref<16xf32>
    %b = step.buffer staging 64 at 0 "b"
    %bv = step.view %b[0] : memref<16xf32>
    // expected-error @+1 {{touches buffer "state" of the pool host, which only transfers may touch}}
    step.copy %hv into %bv : (memref<16xf32>, memref<16xf32>) -> ()
  }
}

// -----

// What a transfer brings is there behind its wait.
step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 4096>} {
  %h = step.buffer state 64 at 0 "state"
  step.program "train" {
    %hv = step.view %h[0] : memref<16xf32>
    %b = step.buffer staging 64 at 0 "b"
    %bv = step.view %b[0] : memref<16xf32>
    // expected-note @+1 {{begins here}}
    %t = step.transfer_start %hv into %bv : (memref<16xf32>, memref<16xf32>) -> !step.token
    // expected-error @+1 {{touches buffer "b" while a collective works on it}}
    step.fill 0.0 into %bv : memref<16xf32>
    step.wait %t
  }
}

// -----

// Bytes of one buffer may go while others come; the same may not.
step.plan attributes {pool_bytes = array<i64: 0, 256, 0, 0, 4096>} {
  %h = step.buffer state 128 at 0 "state"
  step.program "train" {
    %first = step.view %h[0] : memref<16xf32>
    %second = step.view %h[64] : memref<16xf32>
    %b = step.buffer staging 64 at 0 "b"
    %bv = step.view %b[0] : memref<16xf32>
    %c = step.buffer staging 64 at 64 "c"
    %cv = step.view %c[0] : memref<16xf32>
    step.fill 0.0 into %bv : memref<16xf32>
    // expected-note @+1 {{begins here}}
    %t = step.transfer_start %bv into %first : (memref<16xf32>, memref<16xf32>) -> !step.token
    %u = step.transfer_start %second into %cv : (memref<16xf32>, memref<16xf32>) -> !step.token
    step.wait %u
    // expected-error @+1 {{touches buffer "state" while a collective works on it}}
    %v = step.transfer_start %first into %cv : (memref<16xf32>, memref<16xf32>) -> !step.token
    step.wait %v
    step.wait %t
  }
}

// -----

// All of a slice is updated, part by part.
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 32 : i64, padding = 32 : i64, shards = 1 : i64,
  optimizer_shards = 1 : i64, reshard = 1 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
step.plan attributes {pool_bytes = array<i64: 128, 512, 0, 0, 4096>} {
  %p = step.buffer persistent 128 at 0 "p"
  %h = step.buffer state 128 at 0 "state"
  // expected-error @+1 {{is updated in 16 elements of a slice of 32}}
  step.storage @a %p states %h
  step.program "train" {
    %hv = step.view %h[0] : memref<16xf32>
    %b = step.buffer staging 64 at 0 "b"
    %bv = step.view %b[0] : memref<16xf32>
    %g = step.buffer gradient 64 at 64 "g"
    %gv = step.view %g[0] : memref<16xf32>
    %n = step.buffer activation 8 at 128 "n"
    %nv = step.view %n[0] : memref<f64>
    step.fill 0.0 into %gv : memref<16xf32>
    step.fill 0.0 into %nv : memref<f64>
    %t = step.transfer_start %hv into %bv : (memref<16xf32>, memref<16xf32>) -> !step.token
    step.wait %t
    step.optimizer_step @a "lion" (%gv, %nv) states %bv : (memref<16xf32>, memref<f64>, memref<16xf32>) -> ()
  }
}

// -----

// A state in the pool host has to be brought.
fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 16 : i64, padding = 16 : i64, shards = 1 : i64,
  optimizer_shards = 1 : i64, reshard = 1 : i64, element_type = f32, master_type = f32, gradient_type = f32, reason = "root"}
step.plan attributes {pool_bytes = array<i64: 64, 512, 0, 0, 4096>} {
  %p = step.buffer persistent 64 at 0 "p"
  %h = step.buffer state 64 at 0 "state"
  step.storage @a %p states %h
  step.program "train" {
    %g = step.buffer gradient 64 at 64 "g"
    %gv = step.view %g[0] : memref<16xf32>
    %n = step.buffer activation 8 at 128 "n"
    %nv = step.view %n[0] : memref<f64>
    step.fill 0.0 into %gv : memref<16xf32>
    step.fill 0.0 into %nv : memref<f64>
    // expected-error @+1 {{expects views of what its unit has in the pool host, and of nothing else}}
    step.optimizer_step @a "lion" (%gv, %nv) : (memref<16xf32>, memref<f64>) -> ()
  }
}

// -----

// A kernel says how an input lies that is not contiguous.
module {
  module @kernels { func.func private @k(tensor<2x4xf32> {step.strides = array<i64: 8, 1>}) -> tensor<2x4xf32> }
  step.plan attributes {pool_bytes = array<i64: 0, 128, 0, 0, 0>} {
    %a = step.buffer persistent 64 at 0 "a"
    step.program "strides" {
      %b = step.buffer activation 64 at 0 "b"
      %x = step.view %a[0] : memref<2x4xf32>
      %y = step.view %b[0] : memref<2x4xf32>
      // expected-error @+1 {{expects input 0 to be a view of type 'memref<2x4xf32, strided<[8, 1]>>', got 'memref<2x4xf32>'}}
      step.launch @kernels::@k(%x) into (%y) : (memref<2x4xf32>) -> memref<2x4xf32>
    }
  }
}

// -----

module {
  module @kernels { func.func private @k(tensor<2x4xf32>) -> tensor<2x4xf32> }
  step.plan attributes {pool_bytes = array<i64: 0, 128, 0, 0, 0>} {
    %a = step.buffer persistent 64 at 0 "a"
    step.program "gaps" {
      %b = step.buffer activation 64 at 0 "b"
      %x = step.view %a[0] : memref<2x4xf32, strided<[8, 1]>>
      %y = step.view %b[0] : memref<2x4xf32>
      // expected-error @+1 {{expects input 0 to be a view of type 'memref<2x4xf32>', got 'memref<2x4xf32, strided<[8, 1]>>'}}
      step.launch @kernels::@k(%x) into (%y) : (memref<2x4xf32, strided<[8, 1]>>) -> memref<2x4xf32>
    }
  }
}
