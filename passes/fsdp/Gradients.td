// Gradients of units, reduced over ranks and added over micro-batches.
#ifndef SHARDC_PASSES_FSDP_GRADIENTS_TD
#define SHARDC_PASSES_FSDP_GRADIENTS_TD
include "passes/fsdp/Dialect.td"

def FSDP_FlatGradientsOp : FSDP_UnitStepOp<"flat_gradients"> {
  let summary = "the unit's gradients in its flat gradient buffer: where their producers write "
    "them; padding holds zeros";
  let description = [{
    The operands are the gradients of the unit's parameters, in its order: tensors of their shapes
    and the unit's gradient_type. The result is tensor<elements> of that type, in the parameters'
    layout. All else is refused. A gradient that no op can write there (a constant, a slice, one
    that is read later and would change) is copied.

    ```mlir
    %f = fsdp.flat_gradients @layers.0(%dw, %db)
        : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<4608xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat =
    "$unit `(` $gradients `)` attr-dict `:` functional-type($gradients, $flat)";
}
def FSDP_ReduceScatterStartOp : FSDP_UnitStepOp<"reduce_scatter_start", [FSDP_StartsCollective]> {
  let summary = "begins to sum a (slice of a) flat gradient over a group, each rank keeping its "
    "slice; the sum is in rank order";
  let description = [{
    flat is an equal part of the unit's flat gradient, or all of it, of its gradient_type, and cut
    into as many slices as the group has ranks; all else is refused. Sums of 16-bit values are
    formed in float32 and rounded once. With `last` it runs in the last micro-batch alone. With
    `accumulated` the sum goes over the micro-batches of a step, too: one sum, which is kept between
    them without rounding and is there in the last one. The token goes to one
    `fsdp.reduce_scatter_wait` (`fsdp-verify`).

    ```mlir
    %t = fsdp.reduce_scatter_start @layers.0 %f over @shard accumulated : tensor<4608xf32>
    %u = fsdp.reduce_scatter_start @layers.0 %s over @replicate last : tensor<1152xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$flat, FlatSymbolRefAttr:$group,
    UnitAttr:$last, UnitAttr:$accumulated);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = [{$unit $flat `over` $group (`last` $last^)?
    (`accumulated` $accumulated^)? attr-dict `:` type($flat)}];
}
def FSDP_ReduceScatterWaitOp : FSDP_UnitStepOp<"reduce_scatter_wait", [FSDP_EndsCollective]> {
  let summary = "the rank's slice of the sum";
  let description = [{
    Waits until the reduction has ended. The result has the start's type, and its elements divided
    by the ranks of the group: the slice whose number is the rank's in the group. Refused are
    another type, and a token that neither `fsdp.reduce_scatter_start` nor `fsdp.reduce_rows_start`
    made.

    ```mlir
    %t = fsdp.reduce_scatter_start @layers.0 %f over @shard : tensor<4608xf32>
    %s = fsdp.reduce_scatter_wait %t : tensor<1152xf32>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$shard);
  let assemblyFormat = "$token attr-dict `:` type($shard)";
  let hasVerifier = 1;
}
def FSDP_AllReduceGradientsStartOp : FSDP_UnitStepOp<"all_reduce_gradients_start",
    [FSDP_StartsCollective]> {
  let summary = "begins to sum a (slice of a) flat gradient over a group, every rank keeping all "
    "of it; the sum is in rank order";
  let description = [{
    flat is an equal part of the unit's flat gradient, or all of it, of its gradient_type; all else
    is refused. Sums of 16-bit values are formed in float32 and rounded once. `last` and
    `accumulated` are those of `fsdp.reduce_scatter_start`. The token goes to one
    `fsdp.all_reduce_gradients_wait` (`fsdp-verify`).

    ```mlir
    %t = fsdp.all_reduce_gradients_start @layers.0 %s over @replicate last : tensor<1152xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$flat, FlatSymbolRefAttr:$group,
    UnitAttr:$last, UnitAttr:$accumulated);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = [{$unit $flat `over` $group (`last` $last^)?
    (`accumulated` $accumulated^)? attr-dict `:` type($flat)}];
}
def FSDP_AllReduceGradientsWaitOp : FSDP_UnitStepOp<"all_reduce_gradients_wait",
    [FSDP_EndsCollective]> {
  let summary = "the sum";
  let description = [{
    Waits until the reduction has ended. The result has the type of what was reduced. Refused are
    another type, and a token that no `fsdp.all_reduce_gradients_start` made.

    ```mlir
    %t = fsdp.all_reduce_gradients_start @layers.0 %s over @replicate last : tensor<1152xf32>
    %sum = fsdp.all_reduce_gradients_wait %t : tensor<1152xf32>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat = "$token attr-dict `:` type($flat)";
  let hasVerifier = 1;
}
def FSDP_AccumulateOp : FSDP_StepOp<"accumulate", [AllTypesMatch<["value", "sum"]>]> {
  let summary =
    "a value summed over the micro-batches of a step; the sum is there in the last one";
  let description = [{
    With one micro-batch the value itself: no copy, no memory. Value and sum have one type, of any
    shape, floats or i64. Gradients that a collective reduces in every micro-batch are added there
    (`accumulated`). An accumulator (`accumulator_type`) of gradients that are reduced already, as
    with one rank, has the type in which they are added, so that many micro-batches lose nothing in
    16 bits.

    ```mlir
    %a = fsdp.accumulate %g in f32 : tensor<1152xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, TypeAttr:$accumulator_type);
  let results = (outs AnyRankedTensor:$sum);
  let assemblyFormat = "$value `in` $accumulator_type attr-dict `:` type($value)";
}

#endif
