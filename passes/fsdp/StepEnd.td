// The end of a step: norm and loss over all ranks, metrics, the optimizer.
#ifndef SHARDC_PASSES_FSDP_STEPEND_TD
#define SHARDC_PASSES_FSDP_STEPEND_TD
include "passes/fsdp/Dialect.td"

def FSDP_GradientNormOp : FSDP_StepOp<"gradient_norm", [AttrSizedOperandSegments]> {
  let summary = "power sum of flat gradients for the norm to clip by, as an exact sum";
  let description = [{
    The gradients are flat gradients or equal slices of them, one per unit; the result is
    tensor<68xi64>, an exact sum (`fsdp.exact_sum`), to which `previous`, the result for other
    units, is added (of the norm inf the maximum is taken):

    ```
    result = sum over rows of trained parameters of (sum of |g|^p in the row)
    ```

    A row is an index of a parameter's first dim; of a parameter of one dim it is an element. No
    slice cuts one, and sums of rows are exact, so the bits are the same for every mesh and
    strategy. p is the run's (--clip-norm: 1, 2; for inf the result has the largest |g|, and
    all-reduces take the maximum). Refused are gradients of other than one dim.

    ```mlir
    %n = fsdp.gradient_norm %a, %b : (tensor<4608xf32>, tensor<4096xf32>) -> tensor<68xi64>
    %m = fsdp.gradient_norm %c plus(%n : tensor<68xi64>) : (tensor<512xf32>) -> tensor<68xi64>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients, Optional<AnyRankedTensor>:$previous);
  let results = (outs AnyRankedTensor:$partial);
  let assemblyFormat = [{$gradients (`plus` `(` $previous^ `:` type($previous) `)`)? attr-dict `:`
    functional-type($gradients, $partial)}];
  let hasVerifier = 1;
}
def FSDP_ExactSumOp : FSDP_StepOp<"exact_sum"> {
  let summary = "a number as a sum that adding rounds nowhere";
  let description = [{
    The value is tensor<f64>, the result tensor<68xi64>: a fixed-point number that holds every f64,
    in digits with room for carries (R. M. Neal's small superaccumulator, arXiv:1505.05571;
    `runtime/base/ExactSum.h`). `fsdp.accumulate` and `fsdp.all_reduce_start` add it word by word,
    so no order of a sum matters. All else is refused.

    ```mlir
    %e = fsdp.exact_sum %loss : tensor<f64> -> tensor<68xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value);
  let results = (outs AnyRankedTensor:$sum);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($sum)";
  let hasVerifier = 1;
}
def FSDP_RoundSumOp : FSDP_StepOp<"round_sum"> {
  let summary = "the number next to an exact sum";
  let description = [{
    The sum is tensor<68xi64>, the value tensor<f64>. With `norm` it is what `fsdp.gradient_norm`
    made, which holds a maximum where the run's norm is inf. All else is refused.

    ```mlir
    %n = fsdp.round_sum %s norm : tensor<68xi64> -> tensor<f64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$sum, UnitAttr:$norm);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "$sum (`norm` $norm^)? attr-dict `:` type($sum) `->` type($value)";
  let hasVerifier = 1;
}
def FSDP_AllReduceStartOp : FSDP_StepOp<"all_reduce_start",
    [FSDP_StartsCollective, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "begins to sum small tensors over a group, in rank order, as one collective";
  let description = [{
    norms[i]: value i comes from `fsdp.gradient_norm`; it is summed, or with the norm inf its
    maximum taken. The values have one element type, and norms one entry for each; all else is
    refused. In the phase `optimizer` it runs in the last micro-batch alone. The token goes to one
    `fsdp.all_reduce_wait` (`fsdp-verify`).

    ```mlir
    %t = fsdp.all_reduce_start optimizer(%loss, %norm) over @shard
        {norms = array<i1: false, true>} : tensor<68xi64>, tensor<68xi64>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values, FSDP_PhaseAttr:$phase,
    FlatSymbolRefAttr:$group, DenseBoolArrayAttr:$norms);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$phase `(` $values `)` `over` $group attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def FSDP_AllReduceWaitOp : FSDP_StepOp<"all_reduce_wait", [FSDP_EndsCollective]> {
  let summary = "the sums";
  let description = [{
    Waits until the reduction has ended. There is one sum per value of the start, of its type.
    Refused are other types, and a token that no `fsdp.all_reduce_start` made.

    ```mlir
    %t = fsdp.all_reduce_start forward(%loss) over @shard {norms = array<i1: false>}
        : tensor<68xi64>
    %sum = fsdp.all_reduce_wait %t : tensor<68xi64>
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
def FSDP_OutputsOp : FSDP_StepOp<"outputs"> {
  let summary = "hands outputs of the graph to the trainer, at the end of an evaluation";
  let description = [{
    As many names as values. Nothing is computed behind it.

    ```mlir
    fsdp.outputs ["logits"] %logits : tensor<4x128x512xf32>
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$names $values attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def FSDP_OptimizerStepOp : FSDP_UnitStepOp<"optimizer_step", [AttrSizedOperandSegments]> {
  let summary =
    "updates the rank's optimizer slice of a unit from the gradient's, and writes it as parameters";
  let description = [{
    The gradient is divided by what the run says (loss scale, --grad-divide) and multiplied by
    min(1, clip / (norm + 1e-6)) where the run clips (torch.nn.utils.clip_grad_norm_). `kind` is a
    name of runtime/device/Optimizers.h; the numbers (lr, betas, ...) are the run's. The cast of the
    updated master weights to the unit's element type is part of the write: all-gathers carry that
    type, and no gathered buffer is ever cast.

    The gradient is tensor<elements / optimizer_shards> of the unit's gradient_type, the norm (the
    power sum over all ranks) tensor<f64>. Without one the step is not clipped, and skipped for the
    loss alone: such steps stand in backward, where the norm is not there yet, behind the last use
    of the unit. With a direction, which asks for a norm, the rows of whole matrices are updated by
    what `fsdp.scatter_matrices_wait` brought back; it has as many elements as the gradient. Refused
    are other types, a kind that is no optimizer, and a unit that is frozen.

    ```mlir
    fsdp.optimizer_step @layers.0(%g, %norm) "adamw" : tensor<576xf32>, tensor<f64>
    fsdp.optimizer_step @layers.0(%g) "adamw" : tensor<576xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient,
    Optional<AnyRankedTensor>:$norm, StrAttr:$kind, Optional<AnyRankedTensor>:$direction);
  let assemblyFormat = [{$unit `(` $gradient (`,` $norm^)? `)` $kind (`along` $direction^)?
    attr-dict `:` type($gradient) (`,` type($norm)^)? (`,` type($direction)^)?}];
  let hasVerifier = 1;
}

#endif
