// The end of a step: norm and loss over all ranks, metrics, the optimizer.
#ifndef SHARDC_PASSES_FSDP_STEPEND_TD
#define SHARDC_PASSES_FSDP_STEPEND_TD
include "passes/fsdp/Dialect.td"

def FSDP_GradientNormOp : FSDP_StepOp<"gradient_norm"> {
  let summary = "power sum of flat gradients for the norm to clip by, in float64";
  let description = [{
    The operands are flat gradients or equal slices of them, one per unit; the result is
    tensor<f64>. Each is cut into product(slices) equal slices; the slices are summed as a tree of
    `slices` levels, outermost first, each level in order. For `slices = [2, 4]`:

    ```
    partial(s) = sum over operands of (sum of |g|^p in the operand's slice s)   // one fixed order
    result = (partial(0) + ... + partial(3)) + (partial(4) + ... + partial(7))
    ```

    p is the run's (--clip-norm: 1, 2; for inf the sum is a maximum). With `full` each rank has one
    slice of every unit and the all-reduces, dimension by dimension, add in the same order; with
    `none` every rank adds all slices itself: the same numbers in the same order, so the same bits.
    Refused are a level below 1, operands of other than one dim, and of elements that cannot be cut
    into the slices.

    ```mlir
    %n = fsdp.gradient_norm %a, %b {slices = array<i64: 2, 4>}
        : (tensor<4608xf32>, tensor<4096xf32>) -> tensor<f64>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients, DenseI64ArrayAttr:$slices);
  let results = (outs AnyRankedTensor:$partial);
  let assemblyFormat = "$gradients attr-dict `:` functional-type($gradients, $partial)";
  let hasVerifier = 1;
}
def FSDP_AllReduceStartOp : FSDP_StepOp<"all_reduce_start",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "begins to sum small tensors over a group, in rank order, as one collective";
  let description = [{
    norms[i]: value i comes from `fsdp.gradient_norm`; it is summed, or with the norm inf its
    maximum taken. The values have one element type, and norms one entry for each; all else is
    refused. In the phase `optimizer` it runs in the last micro-batch alone. The token goes to one
    `fsdp.all_reduce_wait` (`fsdp-verify`).

    ```mlir
    %t = fsdp.all_reduce_start optimizer(%loss, %norm) over @shard
        {norms = array<i1: false, true>} : tensor<f64>, tensor<f64>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values, FSDP_PhaseAttr:$phase,
    FlatSymbolRefAttr:$group, DenseBoolArrayAttr:$norms);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$phase `(` $values `)` `over` $group attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def FSDP_AllReduceWaitOp : FSDP_StepOp<"all_reduce_wait"> {
  let summary = "the sums";
  let description = [{
    Waits until the reduction has ended. There is one sum per value of the start, of its type.
    Refused are other types, and a token that no `fsdp.all_reduce_start` made.

    ```mlir
    %t = fsdp.all_reduce_start forward(%loss) over @shard {norms = array<i1: false>} : tensor<f64>
    %sum = fsdp.all_reduce_wait %t : tensor<f64>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let assemblyFormat = "$token attr-dict `:` type($sums)";
  let hasVerifier = 1;
}
def FSDP_MetricOp : FSDP_StepOp<"metric"> {
  let summary = "hands a scalar to the trainer's metrics under a name (loss, gradient_norm)";
  let description = [{
    The value is a tensor of no dims and a float type; another one is refused. What is called
    gradient_norm is the power sum over all ranks, of which the trainer takes the root.

    ```mlir
    fsdp.metric "loss" %loss : tensor<f64>
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def FSDP_OptimizerStepOp : FSDP_UnitStepOp<"optimizer_step"> {
  let summary =
    "updates the rank's optimizer slice of a unit from the gradient's, and writes it as parameters";
  let description = [{
    The gradient is divided by what the run says (loss scale, --grad-divide) and multiplied by
    min(1, clip / (norm + 1e-6)) where the run clips (torch.nn.utils.clip_grad_norm_). `kind` is a
    name of runtime/device/Optimizers.h; the numbers (lr, betas, ...) are the run's. The cast of the
    updated master weights to the unit's element type is part of the write: all-gathers carry that
    type, and no gathered buffer is ever cast.

    The gradient is tensor<elements / optimizer_shards> of the unit's gradient_type, the norm (the
    power sum over all ranks) tensor<f64>. Refused are other types, a kind that is no optimizer, and
    a unit that is frozen.

    ```mlir
    fsdp.optimizer_step @layers.0(%g, %norm) "adamw" : tensor<576xf32>, tensor<f64>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient, AnyRankedTensor:$norm,
    StrAttr:$kind);
  let assemblyFormat =
    "$unit `(` $gradient `,` $norm `)` $kind attr-dict `:` type($gradient) `,` type($norm)";
  let hasVerifier = 1;
}

#endif
