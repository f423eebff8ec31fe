// Collectives and what the run sees of a step. A collective begins in a start and ends in the `step.wait` of its token; the
// buffers that it touches stay alive until then.
#ifndef SHARDC_CODEGEN_STEP_COLLECTIVES_TD
#define SHARDC_CODEGEN_STEP_COLLECTIVES_TD
include "codegen/step/Entries.td"

def Step_AllGatherStartOp : Step_Entry<"all_gather_start"> {
  let summary = "begins to gather a unit from the group's slices of its parameters, or from `kept`, into the buffer of the whole unit";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Writes<Step_Buffer>:$gathered, FlatSymbolRefAttr:$group,
    Step_Reads<Optional<Step_View>>:$kept);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "$unit `into` $gathered `over` $group (`from` $kept^ `:` type($kept))? attr-dict";
}
def Step_KeepOp : Step_Entry<"keep"> {
  let summary = "copies the rank's slice over the group out of a gathered unit";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_Buffer>:$gathered, FlatSymbolRefAttr:$group, Step_Writes<Step_View>:$kept);
  let assemblyFormat = "$unit $gathered `over` $group `into` $kept attr-dict `:` type($kept)";
}
def Step_ReduceScatterStartOp : Step_Entry<"reduce_scatter_start"> {
  let summary = "begins to sum a flat gradient (or a slice of one) over the group, each rank keeping its slice";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$flat, Step_Writes<Step_View>:$shard, FlatSymbolRefAttr:$group);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "$unit $flat `into` $shard `over` $group attr-dict `:` functional-type(operands, results)";
}
def Step_AllReduceStartOp : Step_Entry<"all_reduce_start"> {
  let summary = "begins to sum values over the group, in place, as one collective; with `unit` its flat gradients";
  let arguments = (ins Step_Updates<Variadic<Step_View>>:$values, OptionalAttr<FlatSymbolRefAttr>:$unit, FlatSymbolRefAttr:$group,
    DenseBoolArrayAttr:$norms);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "($unit^)? `(` $values `)` `over` $group attr-dict `:` type($values)";
}
def Step_AllGatherUpdatesStartOp : Step_Entry<"all_gather_updates_start", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to gather what the group's optimizers wrote into the rank's slice of the unit's parameters";
  let arguments = (ins FlatSymbolRefAttr:$unit, FlatSymbolRefAttr:$group);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "$unit `over` $group attr-dict";
}
def Step_AccumulateOp : Step_Entry<"accumulate"> {
  let summary = "adds a value over the micro-batches of a step";
  let arguments = (ins Step_Updates<Step_View>:$value, Step_Updates<Step_View>:$accumulator);
  let assemblyFormat = "$value `in` $accumulator attr-dict `:` type($value) `,` type($accumulator)";
}
def Step_WaitOp : Step_Entry<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until the collective has ended";
  let arguments = (ins Step_Token:$token);
  let assemblyFormat = "$token attr-dict";
}
def Step_GradientNormOp : Step_Entry<"gradient_norm"> {
  let summary = "fsdp.gradient_norm: power sum in float64, each gradient in product(slices) equal slices";
  let arguments = (ins Step_Reads<Variadic<Step_View>>:$gradients, Step_Writes<Step_View>:$result, DenseI64ArrayAttr:$slices);
  let assemblyFormat = "`(` $gradients `)` `into` $result attr-dict `:` functional-type(operands, results)";
}
def Step_OptimizerStepOp : Step_Entry<"optimizer_step", [MemoryEffects<[MemWrite]>]> {
  let summary = "updates the rank's optimizer slice of a unit: master weights, state, and its part of the parameters";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$norm, StrAttr:$kind);
  let assemblyFormat = "$unit $kind `(` $gradient `,` $norm `)` attr-dict `:` functional-type(operands, results)";
}
def Step_MetricOp : Step_Entry<"metric", [MemoryEffects<[MemWrite]>]> {
  let summary = "hands a scalar to the trainer's metrics under a name";
  let arguments = (ins StrAttr:$name, Step_Reads<Step_View>:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

#endif
