// The frame of a plan: buffers, views, programs, and what the persistent buffers hold.
#ifndef SHARDC_CODEGEN_STEP_PLAN_TD
#define SHARDC_CODEGEN_STEP_PLAN_TD
include "codegen/step/Step.td"

def Step_Kind : I32EnumAttr<"Kind", "what a buffer holds", [
  I32EnumAttrCase<"persistent", 0>, I32EnumAttrCase<"activation", 1>, I32EnumAttrCase<"gather", 2>,
  I32EnumAttrCase<"gradient", 3>, I32EnumAttrCase<"workspace", 4>,
  I32EnumAttrCase<"accumulation", 5>, I32EnumAttrCase<"state", 6>,
  I32EnumAttrCase<"staging", 7>, I32EnumAttrCase<"offloaded", 8>]> {
  let cppNamespace = "::shardc::step";
}
// What is allocated at once. Activations, gradients, workspaces and what transfers bring (staging)
// share the pool step: most activations are dead when most gradients live. Gathered parameters have
// a pool of their own, which a run without copies between its ranks does without. The pool host is
// no memory of the device: transfers alone reach it. It has master weights and optimizer state
// (state), and activations until backward reads them (offloaded).
def Step_Pool : I32EnumAttr<"Pool", "pool of memory", [
  I32EnumAttrCase<"persistent", 0>, I32EnumAttrCase<"step", 1>, I32EnumAttrCase<"gather", 2>,
  I32EnumAttrCase<"accumulation", 3>, I32EnumAttrCase<"host", 4>]> {
  let cppNamespace = "::shardc::step";
}

def Step_PlanOp : Step_Op<"plan", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "a training step as data: the buffers that outlive a step, and the programs";
  let description = [{
    `step-plan-memory` adds the pools' sizes (`pool_bytes`, in the order of the pools), the most
    bytes of each kind of buffer that are alive at once (`kind_bytes`, in the order of the kinds),
    and the lower bound that no placement could beat (`live_bound_bytes`: the sum over the device's
    pools of the most bytes alive at once). The addresses of a launch's operands are multiples of
    `argument_alignment`, in bytes: what the target's kernels expect; those of buffers are multiples
    of `buffer_alignment`.

    ```mlir
    step.plan attributes {argument_alignment = 16 : i64, pool_bytes = array<i64: 64, 128, 0, 0, 0>,
                          kind_bytes = array<i64: 64, 128, 0, 0, 0, 0, 0, 0, 0>,
                          live_bound_bytes = 192 : i64} {
      %scale = step.buffer persistent 4 at 0 "loss_scale"
      step.program "eval" {
        %loss = step.buffer activation 128 at 0 "loss"
      }
    }
    ```
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "1">:$argument_alignment,
    DefaultValuedAttr<I64Attr, "64">:$buffer_alignment,
    OptionalAttr<DenseI64ArrayAttr>:$pool_bytes, OptionalAttr<DenseI64ArrayAttr>:$kind_bytes,
    OptionalAttr<I64Attr>:$live_bound_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}
def Step_ProgramOp : Step_Op<"program",
    [NoTerminator, SingleBlock, NoRegionArguments, HasParent<"PlanOp">]> {
  let summary = "entries in the order in which every rank runs them";
  let description = [{
    `name` is train or eval. Buffers of a program are there while it runs; those of the plan
    outlive it. Outside a `step.plan` it is refused.

    ```mlir
    step.plan {
      step.program "train" {
        %g = step.buffer gradient 18432 "gradients.layers.0"
        %f = step.view %g[0] : memref<4608xf32>
        step.fill 0.0 into %f : memref<4608xf32>
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name attr-dict-with-keyword $body";
}

def Step_BufferOp : Step_Op<"buffer", [MemoryEffects<[MemAlloc]>]> {
  let summary =
    "bytes of the pool of their kind; the offset into the pool is there once memory is planned";
  let description = [{
    A buffer of the plan lives as long as the trainer; those of the kind accumulation are there only
    in runs with several micro-batches per step, and those of the pool host are reached by
    `step.transfer_start` alone. A buffer of a program lives from the first entry
    that touches it to the last, and to the wait of a collective that touches it. `bytes` is its
    size, `offset` where it begins in its pool, a multiple of the plan's `buffer_alignment`; `name`
    is what errors, profiles and memory reports call it.

    ```mlir
    %x = step.buffer activation 131072 at 4096 "linear"
    ```
  }];
  let arguments = (ins Step_Kind:$kind, I64Attr:$bytes, OptionalAttr<I64Attr>:$offset,
    StrAttr:$name);
  let results = (outs Step_Buffer:$result);
  let builders = [
    OpBuilder<(ins "Kind":$kind, "int64_t":$bytes, "::llvm::StringRef":$name), [{
      build($_builder, $_state, BufferType::get($_builder.getContext()), kind, bytes,
            /*offset=*/nullptr, name);
    }]>];
  let assemblyFormat = "$kind $bytes (`at` $offset^)? $name attr-dict";
}
def Step_ViewOp : Step_Op<"view", [Pure]> {
  let summary = "a strided tensor in a buffer, beginning at a byte offset";
  let description = [{
    The result's layout has the strides, in elements; none means row-major contiguous, a stride of 0
    that a dim is repeated. An i1 takes a byte. Refused are a layout that is not strided, a buffer
    that is not the result of a `step.buffer`, and elements that lie outside of it.

    ```mlir
    %x = step.buffer activation 131072 "linear"
    %all = step.view %x[0] : memref<512x64xf32>
    %right = step.view %x[128] : memref<512x32xf32, strided<[64, 1]>>
    ```
  }];
  let arguments = (ins Step_Buffer:$buffer, I64Attr:$offset);
  let results = (outs Step_View:$result);
  let assemblyFormat = "$buffer `[` $offset `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Step_InputOp : Step_Op<"input", [HasParent<"PlanOp">]> {
  let summary = "what the run writes before every step: a graph input, labels, or the loss scale";
  let description = [{
    `role` is that of the function argument: input, labels,
    loss_scale, draws (`nn-place-draws`) or running (`nn-expand-batch-norms`). `bounds` [min, max]:
    integer values must lie inside (embedding ids, labels), or be the loss's ignore_index. Outside a
    `step.plan` it is refused.

    ```mlir
    step.plan {
      %b = step.buffer persistent 4096 "input_ids"
      %ids = step.view %b[0] : memref<4x128xi64>
      step.input "input_ids" "input" %ids {bounds = array<i64: 0, 511>} : memref<4x128xi64>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$role, Step_View:$view,
    OptionalAttr<DenseI64ArrayAttr>:$bounds);
  let assemblyFormat = "$name $role $view attr-dict `:` type($view)";
}
def Step_StorageOp : Step_Op<"storage",
    [HasParent<"PlanOp">, AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "where a rank keeps its slice of a unit's parameters, the master weights where "
    "they have another type, and optimizer state";
  let description = [{
    `parameters` has elements / shards elements of the unit's element_type; `master` and each of
    `states` (in the order of runtime/device/Optimizers.h) elements / optimizer_shards of its
    master_type. A unit whose types are equal has no master: the rank's part of its parameters is
    that. Float32 masters of bf16 parameters may be split: `remainder` is what is missing to them
    (runtime/base/SplitMaster.h). A frozen unit has no states. Masters and states may be of the kind
    state (`step-offload`). Refused are a symbol that is not
    there, and an op outside a `step.plan`.

    ```mlir
    step.plan {
      %p = step.buffer persistent 2304 "layers.0.parameters"
      %m = step.buffer persistent 2304 "layers.0.master"
      %s0 = step.buffer persistent 2304 "layers.0.state0"
      %s1 = step.buffer persistent 2304 "layers.0.state1"
      step.storage @layers.0 %p master %m states %s0, %s1
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Buffer:$parameters,
    Optional<Step_Buffer>:$master, Optional<Step_Buffer>:$remainder,
    Variadic<Step_Buffer>:$states);
  let assemblyFormat = [{$unit $parameters (`master` $master^)? (`remainder` $remainder^)?
    (`states` $states^)? attr-dict}];
}
def Step_ConstantOp : Step_Op<"constant", [HasParent<"PlanOp">]> {
  let summary = "a buffer's contents, written once when the trainer starts";
  let description = [{
    The elements lie row-major from the buffer's first byte. Outside a `step.plan` it is refused.

    ```mlir
    step.plan {
      %b = step.buffer persistent 12 "constant"
      step.constant %b = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    }
    ```
  }];
  let arguments = (ins Step_Buffer:$buffer, ElementsAttr:$value);
  let assemblyFormat = "$buffer `=` $value attr-dict";
}

#endif
