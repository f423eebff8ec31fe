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
    written straight into a flat gradient buffer of the same layout, whose padding holds zeros: `reduce_scatter_start`
    takes one tensor per parameter. Collectives come as start and wait; between them compute goes on. Ops of this dialect
    have side effects and stay in their order.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class FSDP_Type<string name, string typeMnemonic> : TypeDef<FSDP_Dialect, name> { let mnemonic = typeMnemonic; }
def FSDP_Token : FSDP_Type<"Token", "token"> {
  let summary = "a collective on its way";
}

class FSDP_Op<string mnemonic, list<Trait> traits = []> : Op<FSDP_Dialect, mnemonic, traits>;
// An op of a step. It reads and writes buffers that no SSA value names, so nothing may drop or reorder it.
class FSDP_StepOp<string mnemonic, list<Trait> traits = []> :
    FSDP_Op<mnemonic, !listconcat([MemoryEffects<[MemRead, MemWrite]>], traits)>;
// A step op that names a unit, or whose token comes from one that does: checked against the unit's layout.
class FSDP_UnitStepOp<string mnemonic, list<Trait> traits = []> :
    FSDP_StepOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def FSDP_PhaseKind : I32EnumAttr<"PhaseKind", "part of a step", [
  I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"backward", 1>, I32EnumAttrCase<"optimizer", 2>]> {
  let cppNamespace = "::shardc::fsdp";
  let genSpecializedAttr = 0;
}
def FSDP_PhaseAttr : EnumAttr<FSDP_Dialect, FSDP_PhaseKind, "phase"> { let assemblyFormat = "`` $value"; }

def FSDP_MeshOp : FSDP_Op<"mesh", [Symbol]> {
  let summary = "the ranks: sizes of the mesh dimensions, outermost first, and which dimensions shard";
  let description = [{
    `fsdp.mesh @mesh {dims = array<i64: 2, 8>, shard_dims = array<i64: 0, 1>, strategy = "full"}`: parameters are sharded over
    the product of the dims listed in shard_dims and replicated over the others. There is one in a module.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$shard_dims, StrAttr:$strategy);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Product of dims.
    int64_t getRanks();
    /// Product of the dims listed in shard_dims: into how many shards a unit is cut. 1: every rank holds all.
    int64_t getShards();
  }];
}
def FSDP_UnitOp : FSDP_Op<"unit", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a sharding unit: parameters gathered and released together, and the layout of their flat buffer";
  let description = [{
    offsets[i] is the first element of parameters[i] in the flat buffer of `elements` elements (padding included), which is
    cut into `shards` equal slices of elements / shards (1: every rank holds all). Offsets ascend; a slice boundary inside
    a parameter falls between two of its rows (a row: the elements of one index of dim 0). All parameters of a unit are
    trained. Units stand in the order of their first use in forward. `reason` says in words why the unit was formed.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefArrayAttr:$parameters, DenseI64ArrayAttr:$offsets, I64Attr:$elements,
    I64Attr:$padding, I64Attr:$shards, TypeAttr:$element_type, StrAttr:$reason);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The whole flat buffer, and one rank's slice of it.
    ::mlir::RankedTensorType getFlatType();
    ::mlir::RankedTensorType getShardType();
    /// The parameters as tensors of the flat buffer: shapes of the `nn.parameter`s, the unit's element type.
    ::llvm::SmallVector<::mlir::Type> getParameterTypes(::mlir::SymbolTableCollection &symbolTable);
  }];
}

def FSDP_ResidentOp : FSDP_UnitStepOp<"resident"> {
  let summary = "the unit's parameters where they are not sharded: one tensor per parameter, no communication";
  let arguments = (ins FlatSymbolRefAttr:$unit);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit attr-dict `:` type($parameters)";
}
def FSDP_AllGatherStartOp : FSDP_UnitStepOp<"all_gather_start"> {
  let summary = "begins to gather a unit's shards from all ranks";
  let arguments = (ins FlatSymbolRefAttr:$unit, FSDP_PhaseAttr:$phase);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit $phase attr-dict";
}
def FSDP_AllGatherWaitOp : FSDP_UnitStepOp<"all_gather_wait"> {
  let summary = "the gathered parameters of the unit, one tensor each";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$token attr-dict `:` type($parameters)";
  let hasVerifier = 1;
}
def FSDP_ReleaseOp : FSDP_UnitStepOp<"release"> {
  let summary = "frees a unit's gathered buffer; its tensors may not be used after";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit `(` $parameters `)` attr-dict `:` type($parameters)";
}
def FSDP_ReduceScatterStartOp : FSDP_UnitStepOp<"reduce_scatter_start"> {
  let summary = "begins to sum a unit's gradients over ranks, each rank keeping its shard; the sum is in rank order";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `(` $gradients `)` attr-dict `:` type($gradients)";
}
def FSDP_ReduceScatterWaitOp : FSDP_UnitStepOp<"reduce_scatter_wait"> {
  let summary = "the rank's shard of the unit's summed gradient";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$shard);
  let assemblyFormat = "$token attr-dict `:` type($shard)";
  let hasVerifier = 1;
}
def FSDP_AllReduceGradientsStartOp : FSDP_UnitStepOp<"all_reduce_gradients_start"> {
  let summary = "begins to sum a unit's gradients over ranks, every rank keeping all (strategy none); the sum is in rank order";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `(` $gradients `)` attr-dict `:` type($gradients)";
}
def FSDP_AllReduceGradientsWaitOp : FSDP_UnitStepOp<"all_reduce_gradients_wait"> {
  let summary = "the unit's summed flat gradient";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat = "$token attr-dict `:` type($flat)";
  let hasVerifier = 1;
}
def FSDP_FlatGradientsOp : FSDP_UnitStepOp<"flat_gradients"> {
  let summary = "the unit's flat gradient on a mesh of one rank: the gradients written into the flat buffer, no communication";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat = "$unit `(` $gradients `)` attr-dict `:` functional-type($gradients, $flat)";
}
def FSDP_SquaredNormOp : FSDP_StepOp<"squared_norm"> {
  let summary = "sum of squares of flat gradients, in float64";
  let description = [{
    The operands are flat gradients (slices > 1) or shards of them (slices == 1), one per unit. Each operand is cut into
    `slices` equal slices, each slice summed in one fixed order; then

    ```
    result = 0
    for slice in 0 .. slices:
      partial = 0
      for operand in operands: partial += sum of squares of the operand's slice
      result += partial
    ```

    With `full` each rank has one slice of every unit and the partials are added in rank order by the all-reduce; with
    `none` every rank adds all slices itself: the same numbers in the same order, so the same bits.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients, I64Attr:$slices);
  let results = (outs AnyRankedTensor:$partial);
  let assemblyFormat = "$gradients attr-dict `:` functional-type($gradients, $partial)";
  let hasVerifier = 1;
}
def FSDP_AllReduceStartOp : FSDP_StepOp<"all_reduce_start"> {
  let summary = "begins to sum small tensors over all ranks of the mesh, in rank order, as one collective";
  let arguments = (ins Variadic<AnyRankedTensor>:$values, FSDP_PhaseAttr:$phase);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$phase `(` $values `)` attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def FSDP_AllReduceWaitOp : FSDP_StepOp<"all_reduce_wait"> {
  let summary = "the sums";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let assemblyFormat = "$token attr-dict `:` type($sums)";
  let hasVerifier = 1;
}
def FSDP_ReportOp : FSDP_StepOp<"report"> {
  let summary = "hands a scalar to the trainer's metrics under a name (loss, squared_norm)";
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def FSDP_OptimizerStepOp : FSDP_UnitStepOp<"optimizer_step"> {
  let summary = "updates the rank's shard of a unit's parameters (and optimizer state) from its gradient shard";
  let description = [{
    The gradient is multiplied by min(1, clip / (sqrt(squared_norm) + 1e-6)) where the run clips (torch.nn.utils.clip_grad_norm_).
    `kind` is adamw, adam or sgd, with torch's formulas; their numbers (lr, betas, ...) are the run's.
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient, AnyRankedTensor:$squared_norm, StrAttr:$kind);
  let assemblyFormat = "$unit `(` $gradient `,` $squared_norm `)` $kind attr-dict `:` type($gradient) `,` type($squared_norm)";
  let hasVerifier = 1;
}

#endif
