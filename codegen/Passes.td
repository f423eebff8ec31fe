// Every pass that decides how a training step runs. One entry here, one .cpp, one lit test, all of
// one name. Descriptions have four parts: Needs, Before, After, Why here. test_examples.py parses
// their IR, and says what may be left out of it.
#ifndef SHARDC_CODEGEN_PASSES_TD
#define SHARDC_CODEGEN_PASSES_TD
include "mlir/Pass/PassBase.td"

def StepFuseProducts : Pass<"step-fuse-products", "::mlir::ModuleOp"> {
  let summary = "products add residuals and sum bias gradients themselves";
  let description = [{
    Needs: straight-line functions of nn and fsdp ops; a target whose library can.

    Before:
    ```mlir
    %0 = nn.linear %x, %w : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
    %y = nn.add %r, %0 : tensor<8x32xbf16>
    ...
    %dw = nn.linear_weight_grad %x, %dy
        : (tensor<8x64xbf16>, tensor<8x32xbf16>) -> tensor<64x32xf32>
    %db = nn.reduce_sum %dy [0] : (tensor<8x32xbf16>) -> tensor<1x32xf32>
    ```

    After:
    ```mlir
    %y = nn.linear %x, %w residual %r
        : (tensor<8x64xbf16>, tensor<64x32xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
    ...
    %dw, %sums = nn.linear_weight_grad %x, %dy
        : (tensor<8x64xbf16>, tensor<8x32xbf16>) -> (tensor<64x32xf32>, tensor<32xf32>)
    %db = nn.reshape %sums : (tensor<32xf32>) -> tensor<1x32xf32>
    ```
    A residual is there before the product is computed, in memory anyway (a kernel would not make it
    for the addition alone), and nothing else reads the product. A sum goes over all rows of the
    gradient, has the weight gradient's type, and nothing reads it before that is computed.
    docs/precision.md says what this does to roundings.

    Why here: what runs in which phase and what a kernel computes is settled; before
    `step-outline-kernels`, which would take additions and sums along.
  }];
}

def StepOutlineKernels : Pass<"step-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "fuses generated ops into kernels, one function per distinct body";
  let description = [{
    Needs: straight-line functions @train and @eval (any `func.func` of the module) of nn and fsdp
    ops.

    Before:
    ```mlir
    %0 = nn.add %x, %r : tensor<4x128x64xf32>
    %y, %mean, %rstd = nn.layer_norm %0, %gamma, %beta {epsilon = 1.0e-05 : f64}
        : (tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    ```

    After:
    ```mlir
    module @kernels {   // functions of linalg on tensors
      func.func private @add_layer_norm_3f9a(
          tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
          -> (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    }
    %0, %y, %mean, %rstd = step.call @kernels::@add_layer_norm_3f9a(%x, %r, %gamma, %beta)
        : (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    ```

    Why here: after sharding, so that waits and releases of parameters bound what may be moved;
    before memory is planned, so that values inside a kernel never get a buffer.
  }];
  let options = [
    Option<"fuse", "fuse", "bool", "true",
      "put several ops into one kernel; results have the same bits without">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::shardc::step::StepDialect"];
}

def StepGpuKernels : Pass<"step-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "lowers the kernels once more, to gpu.func";
  let description = [{
    Needs: the module @kernels of `step-outline-kernels`, which stays as it is.

    Before:
    ```mlir
    module @kernels {   // functions of linalg on tensors
      func.func private @softmax_3f9a(tensor<4x128xf32>) -> tensor<4x128xf32>
    }
    ```

    After:
    ```mlir
    gpu.module @gpu_kernels {
      gpu.func @softmax_3f9a(%x: !llvm.ptr {llvm.align = 16 : i64},
                             %y: !llvm.ptr {llvm.align = 16 : i64}) kernel
          attributes {known_block_size = array<i32: 128, 1, 1>,
                      known_grid_size = array<i32: 1, 1, 1>, step.kind = "row"} {
        ...
        gpu.return
      }
    }
    ```
    Row kernels: a group of threads, a warp or a block per row; what a thread has of it stays in
    registers between passes. Column kernels: threads of a block share the rows of a few columns.
    Loop kernels: a thread has one vector of elements. Sums are trees of shuffles and one barrier,
    in an order that follows from the shapes. Arguments are `llvm.noalias`, apart from those where
    `step-write-in-place` may put a result.

    Why here: it reads the same bodies as the CPU's emitter, where they are still linalg. The
    trainer does not use it yet.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90\"", "sm_80, sm_90 or sm_100">,
    Option<"ptx", "ptx", "bool", "false", "print the PTX of every kernel">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def StepLower : Pass<"step-lower", "::mlir::ModuleOp"> {
  let summary = "turns tensors into views of buffers, and ops into the entries of a linear plan";
  let description = [{
    Needs: @train and @eval after `step-outline-kernels`: fsdp ops, step.call, library calls and
    views of nn, constants and parameters that no unit holds; no results.

    Before:
    ```mlir
    nn.parameter @w : tensor<64x64xf32> {trainable, ...}
    fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @layers.0 {parameters = [@w], offsets = array<i64: 0>, elements = 4096 : i64,
                         padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                         reshard = 2 : i64, element_type = f32, master_type = f32,
                         gradient_type = f32, reason = "block 1 of 12"}
    %t = fsdp.all_gather_start @layers.0 forward over @shard
    %w = fsdp.all_gather_wait %t : tensor<64x64xf32>
    %y = nn.linear %x, %w {transpose_weight}
        : (tensor<4x128x64xf32>, tensor<64x64xf32>) -> tensor<4x128x64xf32>
    ```

    After:
    ```mlir
    nn.parameter @w : tensor<64x64xf32> {trainable, ...}
    fsdp.group @shard {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @layers.0 {parameters = [@w], offsets = array<i64: 0>, elements = 4096 : i64,
                         padding = 0 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                         reshard = 2 : i64, element_type = f32, master_type = f32,
                         gradient_type = f32, reason = "block 1 of 12"}
    step.plan {
      %p = step.buffer persistent 8192 "layers.0.parameters"
      step.storage @layers.0 %p
      step.program "train" {
        %g = step.buffer gather 16384 "gathered.layers.0"
        %t = step.all_gather_start @layers.0 into %g over @shard
        step.wait %t
        %b = step.view %g[0] : memref<64x64xf32>
        step.gemm %a, %b into %c {transpose_b}
            : (memref<512x64xf32>, memref<64x64xf32>, memref<512x64xf32>) -> ()
      }
    }
    ```
    reshape, slice, transpose and broadcast become strides where the consumer takes them, else a
    `step.copy`. Gathered parameters are views of the gathered buffer; a gradient's producer writes
    into the unit's flat gradient buffer.

    Why here: kernels are outlined, so every tensor that is left needs memory; the planner needs the
    linear order.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
      "what the trainer runs on, as codegen/Target.h resolves it: it says how much scratch memory "
      "library calls need, and where a kernel's arguments may begin">,
    Option<"workers", "workers", "int64_t", "1",
      "threads of one rank that workspaces are sized for, where ranks have threads">
  ];
  let dependentDialects = ["::shardc::step::StepDialect", "::shardc::fsdp::FSDPDialect"];
}

def StepWriteInPlace : Pass<"step-write-in-place", "::mlir::ModuleOp"> {
  let summary = "results of kernels take the places of inputs that die there";
  let description = [{
    Needs: a step.plan of `step-lower`.

    Before:
    ```mlir
    module @kernels {
      func.func private @gelu_grad_3f9a(tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    }
    %g = step.buffer activation 4096 "gradient"
    %r = step.buffer activation 4096 "result"
    %g0 = step.view %g[0] : memref<1024xf32>
    %r0 = step.view %r[0] : memref<1024xf32>
    ...
    step.launch @kernels::@gelu_grad_3f9a(%x, %g0) into (%r0)   // the last entry that reads %g
        : (memref<1024xf32>, memref<1024xf32>) -> memref<1024xf32>
    ```

    After:
    ```mlir
    module @kernels {
      func.func private @gelu_grad_3f9a(tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    }
    %g = step.buffer activation 4096 "gradient"
    %g0 = step.view %g[0] : memref<1024xf32>
    ...
    step.launch @kernels::@gelu_grad_3f9a(%x, %g0) into (%g0)
        : (memref<1024xf32>, memref<1024xf32>) -> memref<1024xf32>
    ```
    An input's buffer is taken where nothing reads it later, where the whole of it is the input, and
    where the kernel reads each of its elements for the element at the same place alone, not after
    that was written (`mayLieInPlace`).

    Why here: what dies where is known in the linear order; the planner then sees one buffer.
  }];
  let dependentDialects = ["::shardc::step::StepDialect"];
}

def StepOffload : Pass<"step-offload", "::mlir::ModuleOp"> {
  let summary = "optimizer state, parameters and activations lie in the pool host";
  let description = [{
    Needs: a step.plan of `step-lower`, and `offload` of what passes/options/OffloadOption.h says;
    with `none` it changes nothing, and with `auto` where what is alive at once takes at most
    `memory-limit`.

    Before:
    ```mlir
    fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 4096 : i64,
                  padding = 4096 : i64, shards = 1 : i64, optimizer_shards = 1 : i64,
                  reshard = 1 : i64, element_type = f32, master_type = f32,
                  gradient_type = f32, reason = "root"}
    step.plan {
      %p = step.buffer persistent 16384 "a.parameters"
      %s0 = step.buffer persistent 16384 "a.state0"
      %s1 = step.buffer persistent 16384 "a.state1"
      step.storage @a %p states %s0, %s1
      step.program "train" {
        %b = step.buffer activation 16384 "x"
        %x = step.view %b[0] : memref<4096xf32>
        step.fill 1.0 into %x {step.phase = "forward"} : memref<4096xf32>
        step.copy %x into %g {step.phase = "backward"} : (memref<4096xf32>, memref<4096xf32>) -> ()
        step.optimizer_step @a "adamw" (%g, %norm) : (memref<4096xf32>, memref<f64>) -> ()
      }
    }
    ```

    After, with `offload=optimizer,activations`:
    ```mlir
    fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 4096 : i64,
                  padding = 4096 : i64, shards = 1 : i64, optimizer_shards = 1 : i64,
                  reshard = 1 : i64, element_type = f32, master_type = f32,
                  gradient_type = f32, reason = "root"}
    step.plan {
      %p = step.buffer persistent 16384 "a.parameters"
      %s0 = step.buffer state 16384 "a.state0"
      %s1 = step.buffer state 16384 "a.state1"
      step.storage @a %p states %s0, %s1
      step.program "train" {
        %b = step.buffer activation 16384 "x"
        %x = step.view %b[0] : memref<4096xf32>
        step.fill 1.0 into %x {step.phase = "forward"} : memref<4096xf32>
        %o = step.buffer offloaded 16384 "offloaded.x"
        %h = step.view %o[0] : memref<4096xf32>
        %go = step.transfer_start %x into %h : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        step.wait %go
        %c = step.buffer activation 16384 "x"
        %y = step.view %c[0] : memref<4096xf32>
        %come = step.transfer_start %h into %y
            : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        step.wait %come
        step.copy %y into %g {step.phase = "backward"} : (memref<4096xf32>, memref<4096xf32>) -> ()
        %b0 = step.buffer staging 16384 "staged.a.state0"
        %b1 = step.buffer staging 16384 "staged.a.state1"
        %a0 = step.view %b0[0] : memref<4096xf32>
        %a1 = step.view %b1[0] : memref<4096xf32>
        %h0 = step.view %s0[0] : memref<4096xf32>
        %h1 = step.view %s1[0] : memref<4096xf32>
        %t0 = step.transfer_start %h0 into %a0
            : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        %t1 = step.transfer_start %h1 into %a1
            : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        step.wait %t0
        step.wait %t1
        step.optimizer_step @a "adamw" (%g, %norm) states %a0, %a1
            : (memref<4096xf32>, memref<f64>, memref<4096xf32>, memref<4096xf32>) -> ()
        %t2 = step.transfer_start %a0 into %h0
            : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        %t3 = step.transfer_start %a1 into %h1
            : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        step.wait %t2
        step.wait %t3
      }
    }
    ```
    A unit is updated in parts whose masters and states take `part` bytes together. Two parts have
    room at once: while one is updated, the next one comes. The first two begin to come where the
    optimizer's phase begins, behind the last gradient. What is computed of each element is what it
    was. Units that are updated in backward have parts of two milliseconds' transfers, if that
    is more, which begin to come with backward; a part is updated where by the machine's times it
    has come, so that what backward computes hides transfers, and its gradient waits for it; but
    before the second unit behind it has its gradients.

    An activation that is read in backward goes behind the last entry of forward that
    touches it, and comes back in time for the first one of backward. By the machine's times it is
    away while others are alive that need its memory, and compute waits for neither transfer; with a
    SIZE others leave as well, for which it waits.

    Why here: the order of a step is there, and `step-schedule` and `step-plan-memory` then see
    transfers and what they are staged in as they see collectives.
  }];
  let options = [
    Option<"offload", "offload", "std::string", "\"none\"",
      "none, auto, optimizer[=SIZE], activations[=SIZE], parameters[=SIZE]">,
    Option<"cluster", "cluster", "std::string", "\"cpu\"",
      "the machine: a name that is built in, or a TOML file">,
    Option<"memoryLimit", "memory-limit", "std::string", "\"\"",
      "what a rank's pools may take together; default: 97.5 % of the machine's memory">,
    Option<"partBytes", "part", "int64_t", "16777216",
      "bytes of masters and states that are updated at once; at least 4096 elements are">
  ];
  let dependentDialects = ["::shardc::step::StepDialect"];
}

def StepSchedule : Pass<"step-schedule", "::mlir::ModuleOp"> {
  let summary = "gathers begin and reductions are waited for where a step is shortest";
  let description = [{
    Needs: a step.plan of `step-lower`, the module's `fsdp.group`s and `fsdp.unit`s, and
    `prefetch=auto`; with another prefetch it changes nothing.

    Before:
    ```mlir
    step.wait %a
    step.gemm %x, %wa into %y : (memref<512x64xf32>, memref<64x64xf32>, memref<512x64xf32>) -> ()
    %t = step.all_gather_start @b into %gb over @world
    step.wait %t
    step.gemm %y, %wb into %z : (memref<512x64xf32>, memref<64x64xf32>, memref<512x64xf32>) -> ()
    ```

    After:
    ```mlir
    %t = step.all_gather_start @b into %gb over @world
    step.wait %a
    step.gemm %x, %wa into %y : (memref<512x64xf32>, memref<64x64xf32>, memref<512x64xf32>) -> ()
    step.wait %t
    step.gemm %y, %wb into %z : (memref<512x64xf32>, memref<64x64xf32>, memref<512x64xf32>) -> ()
    ```
    The step is simulated by the machine's times (`codegen/timeline/`): streams of a GPU, one that
    computes, and one for gathers and one for reductions of each group of ranks. Tried are how many
    gathered bytes are alive at once, how many of the last units stay gathered from forward to
    backward, and how much later a reduction is waited for; chosen is the shortest step that takes
    at most `memory-limit`, and of equally short ones what takes least memory
    (`codegen/schedule/ListSchedule.h`). Where it makes the step shorter, what the last reduction of
    gradients does not need is computed behind its start (`codegen/schedule/Deferral.h`). Nothing
    else moves, and gathers keep their order. A unit that stays gathered has `reshard = 1` behind
    it.

    Why here: behind `step-write-in-place`, since buffers are final there, and before
    `step-plan-memory`, which sees when they are alive.
  }];
  let options = [
    Option<"prefetch", "prefetch", "std::string", "\"1\"", "auto, or what fsdp-shard has done">,
    Option<"cluster", "cluster", "std::string", "\"cpu\"",
      "the machine: a name that is built in, or a TOML file">,
    Option<"memoryLimit", "memory-limit", "std::string", "\"\"",
      "what a rank's pools may take together; default: 97.5 % of the machine's memory">
  ];
}

def StepStageParameters : Pass<"step-stage-parameters", "::mlir::ModuleOp"> {
  let summary = "parameters that lie in the pool host come before they are gathered or read";
  let description = [{
    Needs: a step.plan of `step-offload`, whose gathers have their places (`step-schedule`).

    Before:
    ```mlir
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 8192 : i64,
                  padding = 8192 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                  reshard = 2 : i64, element_type = f32, master_type = f32,
                  gradient_type = f32, reason = "root"}
    step.plan {
      %p = step.buffer state 16384 "a.parameters"
      step.storage @a %p
      step.program "eval" {
        %g = step.buffer gather 32768 "gathered.a"
        %t = step.all_gather_start @a into %g over @world
        step.wait %t
      }
    }
    ```

    After:
    ```mlir
    fsdp.group @world {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @a {parameters = [], offsets = array<i64>, elements = 8192 : i64,
                  padding = 8192 : i64, shards = 2 : i64, optimizer_shards = 2 : i64,
                  reshard = 2 : i64, element_type = f32, master_type = f32,
                  gradient_type = f32, reason = "root"}
    step.plan {
      %p = step.buffer state 16384 "a.parameters"
      step.storage @a %p
      step.program "eval" {
        %g = step.buffer gather 32768 "gathered.a"
        %b = step.buffer staging 16384 "staged.a.parameters"
        %s = step.view %b[0] : memref<4096xf32>
        %h = step.view %p[0] : memref<4096xf32>
        %c = step.transfer_start %h into %s : (memref<4096xf32>, memref<4096xf32>) -> !step.token
        step.wait %c
        %t = step.all_gather_start @a into %g over @world from %s : memref<4096xf32>
        step.wait %t
      }
    }
    ```
    A slice takes the last time before its gather in which the link from the host is free, by the
    machine's times, but none before the need two places ahead; where that never is, it begins to
    come when the need before it has begun. It has room until its gather has ended. Gathers that
    `step-schedule` holds on to, or that bring what was kept of a unit, stay as they are. Where a
    unit is not gathered, entries that read it read what came: all those between which no pause is
    longer than a transfer.

    Why here: a slice that came before gathers have their places would be held until they begin.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"cpu\"",
      "the machine: a name that is built in, or a TOML file">
  ];
  let dependentDialects = ["::shardc::step::StepDialect"];
}

def StepPlanMemory : Pass<"step-plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every buffer its offset in its pool";
  let description = [{
    Needs: a step.plan of `step-lower`.

    Before:
    ```mlir
    step.plan {
      step.program "train" {
        %1 = step.buffer activation 4096 "linear"
        ...
      }
    }
    ```

    After:
    ```mlir
    step.plan attributes {kind_bytes = array<i64: 1024, 8192, 0, 0, 0, 0, 0, 0, 0>,
                          live_bound_bytes = 9216 : i64,
                          pool_bytes = array<i64: 1024, 8192, 0, 0, 0>} {
      step.program "train" {
        %1 = step.buffer activation 4096 at 128 "linear"
        ...
      }
    }
    ```
    Buffers of a program that are never alive at the same time share bytes. A buffer that a
    collective touches is alive until the wait. Each program has the pools to itself; a pool is as
    large as the largest program needs it.

    Why here: the order of entries is final. What is planned here is what the trainer allocates,
    once.
  }];
  let dependentDialects = ["::shardc::step::StepDialect"];
}

def StepVerify : Pass<"step-verify", "::mlir::ModuleOp"> {
  let summary = "checks that a planned step is safe to run";
  let description = [{
    Needs: a step.plan of `step-plan-memory`.

    Before and after: the same. It fails when two buffers of a pool that are alive at the same time
    share bytes, when a buffer ends behind its pool, when an entry reads bytes that nothing has
    written, when an entry touches a buffer that a collective is working on, when a collective has
    no wait or two, and when a kernel writes over an input that it still reads.

    Why here: the last look before the plan leaves the compiler; the runtime trusts it.
  }];
}

#endif
