// Collectives and what the run sees of a step. A collective begins in a start and ends in the `step.wait` of its token; the
// buffers that it touches stay alive until then.
#ifndef SHARDC_CODEGEN_STEP_COLLECTIVES_TD
#define SHARDC_CODEGEN_STEP_COLLECTIVES_TD
include "codegen/step/Entries.td"

def Step_AllGatherStartOp : Step_Entry<"all_gather_start"> {
  let summary = "begins to gather a unit's slices from all ranks into the buffer of the whole unit";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Writes<Step_Buffer>:$gathered);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "$unit `into` $gathered attr-dict";
}
def Step_ReduceScatterStartOp : Step_Entry<"reduce_scatter_start"> {
  let summary = "begins to sum the ranks' flat gradients, each rank keeping its slice";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_Buffer>:$flat, Step_Writes<Step_Buffer>:$shard);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "$unit $flat `into` $shard attr-dict";
}
def Step_AllReduceStartOp : Step_Entry<"all_reduce_start"> {
  let summary = "begins to sum values over all ranks, in place, as one collective; with `unit` its flat gradients";
  let arguments = (ins Step_Updates<Variadic<Step_View>>:$values, OptionalAttr<FlatSymbolRefAttr>:$unit);
  let results = (outs Step_Token:$token);
  let assemblyFormat = "($unit^)? `(` $values `)` attr-dict `:` type($values)";
}
def Step_WaitOp : Step_Entry<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until the collective has ended";
  let arguments = (ins Step_Token:$token);
  let assemblyFormat = "$token attr-dict";
}
def Step_SquaredNormOp : Step_Entry<"squared_norm"> {
  let summary = "fsdp.squared_norm: sum of squares in float64, each gradient in `slices` equal slices";
  let arguments = (ins Step_Reads<Variadic<Step_View>>:$gradients, Step_Writes<Step_View>:$result, I64Attr:$slices);
  let assemblyFormat = "`(` $gradients `)` `into` $result attr-dict `:` functional-type(operands, results)";
}
def Step_OptimizerStepOp : Step_Entry<"optimizer_step", [MemoryEffects<[MemWrite]>]> {
  let summary = "updates the rank's slice of a unit's parameters and their optimizer state";
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$gradient, Step_Reads<Step_View>:$squared_norm,
    StrAttr:$kind);
  let assemblyFormat = "$unit $kind `(` $gradient `,` $squared_norm `)` attr-dict `:` functional-type(operands, results)";
}
def Step_ReportOp : Step_Entry<"report", [MemoryEffects<[MemWrite]>]> {
  let summary = "hands a scalar to the trainer's metrics under a name";
  let arguments = (ins StrAttr:$name, Step_Reads<Step_View>:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

#endif
