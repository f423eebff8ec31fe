// Collectives and what the run sees of a step. A collective begins in a start and ends in the
// `step.wait` of its token; the buffers that it touches stay alive until then.
#ifndef SHARDC_CODEGEN_STEP_COLLECTIVES_TD
#define SHARDC_CODEGEN_STEP_COLLECTIVES_TD
include "codegen/step/Entries.td"

def Step_AllGatherStartOp : Step_Entry<"all_gather_start", [Step_StartsCollective]> {
  let summary = "begins to gather a unit from the group's slices of its parameters, or from "
    "`kept`, into the buffer of the whole unit";
  let description = [{
    fsdp.all_gather_start. `gathered` is a buffer of the kind gather with the bytes of the unit's
    flat buffer; its source is the rank's slice (`step.storage`), or the slice over the group that
    `step.keep` wrote: contiguous, with elements / size elements of the unit's element_type. Nothing
    but it and `step.keep` may write to such a buffer, and until its one `step.wait` nothing may
    touch it (`step-verify`).

    ```mlir
    %g = step.buffer gather 9216 "gathered.layers.0"
    %t = step.all_gather_start @layers.0 into %g over @reshard.2 from %k : memref<2304xbf16>
    step.wait %t
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Writes<Step_Buffer>:$gathered,
    FlatSymbolRefAttr:$group, Step_Reads<Optional<Step_View>>:$kept);
  let results = (outs Step_Token:$token);
  let assemblyFormat =
    "$unit `into` $gathered `over` $group (`from` $kept^ `:` type($kept))? attr-dict";
}
def Step_KeepOp : Step_Entry<"keep"> {
  let summary = "copies the rank's slice over the group out of a gathered unit";
  let description = [{
    fsdp.keep. `gathered` is what an all-gather wrote; `kept` is contiguous and has elements / size
    elements of the unit's element_type: the slice whose number is the rank's in the group.

    ```mlir
    %b = step.buffer gather 4608 "kept.layers.0"
    %k = step.view %b[0] : memref<2304xbf16>
    step.keep @layers.0 %g over @reshard.2 into %k : memref<2304xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_Buffer>:$gathered,
    FlatSymbolRefAttr:$group, Step_Writes<Step_View>:$kept);
  let assemblyFormat = "$unit $gathered `over` $group `into` $kept attr-dict `:` type($kept)";
}
def Step_ReduceScatterStartOp : Step_Entry<"reduce_scatter_start",
    [Step_ReducesGradients, AttrSizedOperandSegments]> {
  let summary = "begins to sum a flat gradient (or a slice of one) over the group, each rank "
    "keeping its slice";
  let description = [{
    fsdp.reduce_scatter_start. flat and shard are contiguous, of one dim and one float type; shard
    has the elements of flat divided by the ranks of the group. Sums are in rank order, of 16-bit
    values in float32, and rounded once. The workspace has as many bytes as the target asks for.
    Until its one `step.wait` nothing may write to flat or touch shard (`step-verify`).

    ```mlir
    %t = step.reduce_scatter_start @layers.0 %f into %s over @shard
        : (memref<4608xf32>, memref<1152xf32>) -> !step.token
    step.wait %t
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$flat,
    Step_Writes<Step_View>:$shard, Step_Updates<Optional<Step_View>>:$accumulator,
    Step_Writes<Optional<Step_View>>:$workspace, FlatSymbolRefAttr:$group);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{$unit $flat `into` $shard (`in` $accumulator^)? `over` $group
    (`workspace` $workspace^)? attr-dict `:` functional-type(operands, results)}];
}
def Step_AllReduceStartOp : Step_Entry<"all_reduce_start",
    [Step_ReducesGradients, AttrSizedOperandSegments]> {
  let summary = "begins to sum values over the group, in place, as one collective; with `unit` its "
    "flat gradients";
  let description = [{
    fsdp.all_reduce_start, and with a unit fsdp.all_reduce_gradients_start. The values are
    contiguous and have one type, a float or i64. norms[i]: value i is a power sum of gradients, of
    which the norm inf takes the maximum. Sums are in rank order, of 16-bit values in float32, and
    rounded once. The accumulators are none, or one for each value, as `step.reduce_scatter_start`
    has it. Until its one `step.wait` nothing may touch the values (`step-verify`).

    ```mlir
    %t = step.all_reduce_start (%loss, %norm) over @shard {norms = array<i1: false, true>}
        : (memref<68xi64>, memref<68xi64>) -> !step.token
    step.wait %t
    ```
  }];
  let arguments = (ins Step_Updates<Variadic<Step_View>>:$values,
    Step_Updates<Variadic<Step_View>>:$accumulators,
    Step_Writes<Optional<Step_View>>:$workspace, OptionalAttr<FlatSymbolRefAttr>:$unit,
    FlatSymbolRefAttr:$group, DenseBoolArrayAttr:$norms);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{($unit^)? `(` $values `)` (`in` $accumulators^)? `over` $group
    (`workspace` $workspace^)? attr-dict `:` functional-type(operands, results)}];
}
def Step_AllGatherUpdatesStartOp : Step_Entry<"all_gather_updates_start",
    [Step_StartsCollective, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to gather what the group's optimizers wrote into the rank's slice of the "
    "unit's parameters";
  let description = [{
    fsdp.all_gather_updates_start: in place, in the buffer `parameters` of the unit's
    `step.storage`, where each rank of the group has updated its own part. It ends in its one
    `step.wait`.

    ```mlir
    %t = step.all_gather_updates_start @layers.0 over @replicate
    step.wait %t
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, FlatSymbolRefAttr:$group);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "$unit `over` $group attr-dict";
}
def Step_AccumulateOp : Step_Entry<"accumulate"> {
  let summary = "adds a value over the micro-batches of a step";
  let description = [{
    fsdp.accumulate. With one micro-batch nothing happens. Of several the first copies the value
    into the accumulator, those between add it there, and the last adds the accumulator to the
    value. Both are contiguous and have as many elements; they are floats, of types that may differ,
    or i64. The accumulator lies in a buffer of the kind accumulation. The runtime refuses all else.

    ```mlir
    step.accumulate %g in %sum : memref<1152xbf16>, memref<1152xf32>
    ```
  }];
  let arguments = (ins Step_Updates<Step_View>:$value, Step_Updates<Step_View>:$accumulator);
  let assemblyFormat =
    "$value `in` $accumulator attr-dict `:` type($value) `,` type($accumulator)";
}
def Step_WaitOp : Step_Entry<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until the collective has ended";
  let description = [{
    Every start has one (`step-verify`). What the collective wrote may be read from here on, and
    what it read be written.

    ```mlir
    %t = step.all_gather_updates_start @layers.0 over @replicate
    step.wait %t
    ```
  }];
  let arguments = (ins Step_Token:$token);
  let assemblyFormat = "$token attr-dict";
}
def Step_GradientNormOp : Step_Entry<"gradient_norm", [AttrSizedOperandSegments]> {
  let summary = "fsdp.gradient_norm: power sum of the rank's slices of gradients, as an exact sum";
  let description = [{
    The gradients are contiguous, of float types; gradient i is the rank's optimizer slice of
    units[i]. The result is an exact sum of 68 words, and so is what it is added to. The runtime
    refuses all else.

    ```mlir
    step.gradient_norm (%a, %b) into %norm {units = [@layers.0, @layers.1]}
        : (memref<576xf32>, memref<512xf32>, memref<68xi64>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Variadic<Step_View>>:$gradients,
    Step_Reads<Optional<Step_View>>:$previous, Step_Writes<Step_View>:$result,
    TypedArrayAttrBase<FlatSymbolRefAttr, "names of units">:$units);
  let assemblyFormat = [{`(` $gradients `)` (`plus` $previous^)? `into` $result attr-dict `:`
    functional-type(operands, results)}];
}
def Step_ExactSumOp : Step_Entry<"exact_sum"> {
  let summary = "fsdp.exact_sum: a number as a sum that adding rounds nowhere";
  let description = [{
    The value is one float64, the sum contiguous, of 68 words. The runtime refuses all else.

    ```mlir
    step.exact_sum %loss into %sum : (memref<f64>, memref<68xi64>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$value, Step_Writes<Step_View>:$sum);
  let assemblyFormat = "$value `into` $sum attr-dict `:` functional-type(operands, results)";
}
def Step_RoundSumOp : Step_Entry<"round_sum"> {
  let summary = "fsdp.round_sum: the number next to an exact sum";
  let description = [{
    The types are those of `step.exact_sum`. With `norm` the sum is a `step.gradient_norm`'s.

    ```mlir
    step.round_sum %sum into %norm {norm} : (memref<68xi64>, memref<f64>) -> ()
    ```
  }];
  let arguments = (ins Step_Reads<Step_View>:$sum, Step_Writes<Step_View>:$value, UnitAttr:$norm);
  let assemblyFormat = "$sum `into` $value attr-dict `:` functional-type(operands, results)";
}
def Step_OptimizerStepOp : Step_Entry<"optimizer_step",
    [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "updates the rank's optimizer slice of a unit: master weights, state, and its part "
    "of the parameters";
  let description = [{
    fsdp.optimizer_step, on the buffers of the unit's `step.storage`. gradient is contiguous, of the
    unit's gradient_type and elements / optimizer_shards elements; norm is one float64, which a step
    in backward has not; direction, which a unit with whole matrices has, is that of
    `step.matrix_direction`. `kind` is a name of runtime/device/Optimizers.h, and one in a plan. The
    runtime refuses all else, and a unit that is frozen.

    A step may be a part of the unit's: `begin` elements of the slice lie before those of the
    gradient. Where `step.storage` has master, states or parameters in the pool host, the step works
    on `master`, `states` and `parameters`, which transfers brought: contiguous, of as many elements
    as the gradient. Parameters that are the master weights themselves are `master`.

    ```mlir
    step.optimizer_step @layers.0 "adamw" (%g, %norm) : (memref<576xf32>, memref<f64>) -> ()
    step.optimizer_step @layers.1 "adamw" (%part, %norm) states %s0, %s1 {begin = 512 : i64}
        : (memref<64xf32>, memref<f64>, memref<64xf32>, memref<64xf32>) -> ()
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$gradient,
    Step_Reads<Optional<Step_View>>:$norm, StrAttr:$kind,
    Step_Reads<Optional<Step_View>>:$direction, Step_Updates<Optional<Step_View>>:$master,
    Step_Updates<Variadic<Step_View>>:$states, Step_Updates<Optional<Step_View>>:$parameters,
    DefaultValuedAttr<I64Attr, "0">:$begin);
  let assemblyFormat = [{$unit $kind `(` $gradient (`,` $norm^)? `)` (`along` $direction^)?
    (`master` $master^)? (`states` $states^)? (`parameters` $parameters^)? attr-dict `:`
    functional-type(operands, results)}];
}
def Step_MetricOp : Step_Entry<"metric", [MemoryEffects<[MemWrite]>]> {
  let summary = "hands a scalar to the trainer's metrics under a name";
  let description = [{
    fsdp.report: `name` is loss, gradient_norm, of which the trainer takes the root, or correct, the
    rank's part of what `--metric accuracy` counts; the value is one float.

    ```mlir
    step.metric "loss" %loss : memref<f64>
    ```
  }];
  let arguments = (ins StrAttr:$name, Step_Reads<Step_View>:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}
def Step_OutputOp : Step_Entry<"output", [MemoryEffects<[MemWrite]>]> {
  let summary = "where an output of the graph lies when the program has ended";
  let description = [{
    fsdp.outputs: the value is contiguous, its first dim the batch. Behind it come outputs alone.

    ```mlir
    step.output "logits" %logits : memref<4x128x512xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Step_Reads<Step_View>:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

#endif
