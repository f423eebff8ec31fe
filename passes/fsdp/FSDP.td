// The fsdp dialect: how a model trains on a mesh. Sharding units and the asynchronous collectives over their flat buffers.
#ifndef SHARDC_PASSES_FSDP_FSDP_TD
#define SHARDC_PASSES_FSDP_FSDP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def FSDP_Dialect : Dialect {
  let name = "fsdp";
  let cppNamespace = "::shardc::fsdp";
  let summary = "how a model trains on a mesh: units, asynchronous collectives, optimizer on shards";
  let description = [{
    A unit's flat buffer is the concatenation of its parameters (with padding so that every shard boundary falls on a row
    of the parameter that it cuts). Shard r is the r-th equal slice. The result of an all-gather is the parameters
    themselves: `all_gather_wait` returns one tensor per parameter, each a view of the gathered buffer. Gradients are
    written straight into a flat gradient buffer: `reduce_scatter_start` takes one tensor per trainable parameter.
    Collectives come as start and wait; between them compute goes on. Ops of this dialect have side effects and stay in
    their order.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class FSDP_Type<string name, string typeMnemonic> : TypeDef<FSDP_Dialect, name> { let mnemonic = typeMnemonic; }
def FSDP_Token : FSDP_Type<"Token", "token"> {
  let summary = "a collective on its way";
}

class FSDP_Op<string mnemonic, list<Trait> traits = []> : Op<FSDP_Dialect, mnemonic, traits>;

def FSDP_PhaseKind : I32EnumAttr<"PhaseKind", "part of a step", [
  I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"backward", 1>, I32EnumAttrCase<"optimizer", 2>]> {
  let cppNamespace = "::shardc::fsdp";
  let genSpecializedAttr = 0;
}
def FSDP_PhaseAttr : EnumAttr<FSDP_Dialect, FSDP_PhaseKind, "phase">;

def FSDP_MeshOp : FSDP_Op<"mesh", [Symbol]> {
  let summary = "the ranks: sizes of the mesh dimensions, outermost first, and which dimensions shard";
  let description = [{
    `fsdp.mesh @mesh {dims = array<i64: 2, 8>, shard_dims = array<i64: 0, 1>, strategy = "full"}`: parameters are sharded over
    the product of the dims listed in shard_dims and replicated over the others.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$shard_dims, StrAttr:$strategy);
  let assemblyFormat = "$sym_name attr-dict";
}
def FSDP_UnitOp : FSDP_Op<"unit", [Symbol]> {
  let summary = "a sharding unit: parameters gathered and released together, and the layout of their flat buffer";
  let description = [{
    offsets[i] is the first element of parameters[i] in the flat buffer of `elements` elements (padding included), which is
    cut into `shards` equal slices of elements / shards. `reason` says in words why the unit was formed.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefArrayAttr:$parameters, DenseI64ArrayAttr:$offsets, I64Attr:$elements,
    I64Attr:$padding, I64Attr:$shards, TypeAttr:$element_type, StrAttr:$reason);
  let assemblyFormat = "$sym_name attr-dict";
}

def FSDP_ResidentOp : FSDP_Op<"resident"> {
  let summary = "the unit's parameters where they are not sharded: one tensor per parameter, no communication";
  let arguments = (ins FlatSymbolRefAttr:$unit);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit attr-dict `:` type($parameters)";
}
def FSDP_AllGatherStartOp : FSDP_Op<"all_gather_start"> {
  let summary = "begins to gather a unit's shards from all ranks";
  let arguments = (ins FlatSymbolRefAttr:$unit, FSDP_PhaseAttr:$phase);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit $phase attr-dict";
}
def FSDP_AllGatherWaitOp : FSDP_Op<"all_gather_wait"> {
  let summary = "the gathered parameters of the unit, one tensor each";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$token attr-dict `:` type($parameters)";
}
def FSDP_ReleaseOp : FSDP_Op<"release"> {
  let summary = "frees a unit's gathered buffer; its tensors may not be used after";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit `(` $parameters `)` attr-dict `:` type($parameters)";
}
def FSDP_ReduceScatterStartOp : FSDP_Op<"reduce_scatter_start"> {
  let summary = "begins to sum a unit's gradients over ranks, each rank keeping its shard; the sum is in rank order";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `(` $gradients `)` attr-dict `:` type($gradients)";
}
def FSDP_ReduceScatterWaitOp : FSDP_Op<"reduce_scatter_wait"> {
  let summary = "the rank's shard of the unit's summed gradient";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$shard);
  let assemblyFormat = "$token attr-dict `:` type($shard)";
}
def FSDP_AllReduceGradientsStartOp : FSDP_Op<"all_reduce_gradients_start"> {
  let summary = "begins to sum a unit's gradients over ranks, every rank keeping all (strategy none)";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `(` $gradients `)` attr-dict `:` type($gradients)";
}
def FSDP_AllReduceGradientsWaitOp : FSDP_Op<"all_reduce_gradients_wait"> {
  let summary = "the unit's summed flat gradient";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat = "$token attr-dict `:` type($flat)";
}
def FSDP_SquaredNormOp : FSDP_Op<"squared_norm"> {
  let summary = "sum of squares of gradient shards, in float64";
  let description = [{
    Each operand is summed shard slice by shard slice (`slices` equal slices, 1 for a shard), each slice in one fixed order,
    and the slices' sums are added in order: so that `none` (all slices on every rank) gives the bits of `full`.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients, I64Attr:$slices);
  let results = (outs AnyRankedTensor:$partial);
  let assemblyFormat = "$gradients attr-dict `:` functional-type($gradients, $partial)";
}
def FSDP_AllReduceStartOp : FSDP_Op<"all_reduce_start"> {
  let summary = "begins to sum small tensors over all ranks of the mesh, in rank order, as one collective";
  let arguments = (ins Variadic<AnyRankedTensor>:$values, FSDP_PhaseAttr:$phase);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$phase `(` $values `)` attr-dict `:` type($values)";
}
def FSDP_AllReduceWaitOp : FSDP_Op<"all_reduce_wait"> {
  let summary = "the sums";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let assemblyFormat = "$token attr-dict `:` type($sums)";
}
def FSDP_ReportOp : FSDP_Op<"report"> {
  let summary = "hands a scalar to the trainer's metrics under a name (loss, squared_norm)";
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}
def FSDP_OptimizerStepOp : FSDP_Op<"optimizer_step"> {
  let summary = "updates the rank's shard of a unit's parameters (and optimizer state) from its gradient shard";
  let description = [{
    The gradient is multiplied by min(1, clip / (sqrt(squared_norm) + 1e-6)) where the run clips (torch.nn.utils.clip_grad_norm_).
    `kind` is adamw, adam or sgd, with torch's formulas; their numbers (lr, betas, ...) are the run's.
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient, AnyRankedTensor:$squared_norm, StrAttr:$kind);
  let assemblyFormat = "$unit `(` $gradient `,` $squared_norm `)` $kind attr-dict `:` type($gradient) `,` type($squared_norm)";
}

#endif
