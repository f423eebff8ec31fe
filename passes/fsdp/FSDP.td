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
    A unit's flat buffer is the concatenation of its parameters (with padding so that every slice boundary falls on a row
    of the parameter that it cuts). The result of an all-gather is the parameters themselves: `all_gather_wait` returns one
    tensor per parameter, each a view of the gathered buffer. Gradients are written straight into a flat gradient buffer of
    the same layout, whose padding holds zeros (`flat_gradients`); collectives reduce it. Collectives come as start and
    wait; between them compute goes on. Ops of this dialect have side effects and stay in their order.

    A step is one or more micro-batches (a number of the run). Every micro-batch runs the whole function, but for what has
    the phase `optimizer` or the attribute `last`: that runs in the last micro-batch alone.
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
  let summary = "the ranks: sizes of the mesh dimensions, outermost first, and over which dimensions what is cut";
  let description = [{
    `fsdp.mesh @mesh {dims = array<i64: 2, 8>, names = ["replicate", "shard"], shard_dims = array<i64: 1>,
    optimizer_dims = array<i64: 1>, strategy = "hybrid"}`: between steps parameters lie in slices over shard_dims (outermost
    first: a rank's slice is its coordinates in them as one number), master weights and optimizer state in slices over
    optimizer_dims, which begin with shard_dims. Over all other dims they are replicated. There is one in a module.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$dims, StrArrayAttr:$names, DenseI64ArrayAttr:$shard_dims,
    DenseI64ArrayAttr:$optimizer_dims, StrAttr:$strategy);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Product of dims.
    int64_t getRanks();
    /// Product of the dims listed in shard_dims: into how many slices parameters are cut. 1: every rank holds all.
    int64_t getShards();
    /// Product of the dims listed in optimizer_dims.
    int64_t getOptimizerShards();
  }];
}
def FSDP_GroupOp : FSDP_Op<"group", [Symbol]> {
  let summary = "ranks that communicate";
  let description = [{
    Rank r's group has the members base + k * stride, 0 <= k < size, with base = r - (r / stride % size) * stride; its rank in
    it is r / stride % size. `fsdp.group @shard {stride = 1 : i64, size = 8 : i64}` are eight neighbours, `@replicate
    {stride = 8, size = 2}` those with equal places in two such groups.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$stride, I64Attr:$size);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}
def FSDP_UnitOp : FSDP_Op<"unit", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a sharding unit: parameters gathered and released together, and the layout of their flat buffer";
  let description = [{
    offsets[i] is the first element of parameters[i] in the flat buffer of `elements` elements (padding included), which is
    cut into `shards` equal slices of elements / shards (1: every rank holds all), and for the optimizer into
    `optimizer_shards` (0: the unit is frozen: no gradient, no state). Offsets ascend; a slice boundary inside a parameter
    falls between two of its rows (a row: the elements of one index of dim 0). Either all parameters of a unit are trained or
    none is. Units stand in the order of their first use in forward.

    `element_type` is that of the gathered parameters, `master_type` that of the rank's own copy, which the optimizer updates,
    and of its state, `gradient_type` that of the flat gradients and their sums.

    `reshard` says what is left of the gathered parameters between forward and backward: 1, all of them on every rank;
    `shards`, nothing but the rank's slice; N between, a slice over N neighbours, which gather among themselves.
    `reason` says in words why the unit was formed.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefArrayAttr:$parameters, DenseI64ArrayAttr:$offsets, I64Attr:$elements,
    I64Attr:$padding, I64Attr:$shards, I64Attr:$optimizer_shards, I64Attr:$reshard, TypeAttr:$element_type, TypeAttr:$master_type,
    TypeAttr:$gradient_type, StrAttr:$reason);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the optimizer updates it.
    bool isTrained() { return getOptimizerShards() != 0; }
    /// The flat gradient of the unit, and a 1/slices-th of it.
    ::mlir::RankedTensorType getFlatGradientType(int64_t slices = 1);
    /// The flat buffer of the parameters, and a 1/slices-th of it.
    ::mlir::RankedTensorType getFlatType(int64_t slices = 1);
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
  let summary = "begins to gather a unit from the slices of the group's ranks: those of the parameters, or `kept`";
  let arguments = (ins FlatSymbolRefAttr:$unit, FSDP_PhaseAttr:$phase, FlatSymbolRefAttr:$group, Optional<AnyRankedTensor>:$kept);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit $phase `over` $group (`from` $kept^ `:` type($kept))? attr-dict";
}
def FSDP_AllGatherWaitOp : FSDP_UnitStepOp<"all_gather_wait"> {
  let summary = "the gathered parameters of the unit, one tensor each";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$token attr-dict `:` type($parameters)";
  let hasVerifier = 1;
}
def FSDP_KeepOp : FSDP_UnitStepOp<"keep"> {
  let summary = "the rank's slice over a group out of a gathered unit: a copy that outlives the release";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$parameters, FlatSymbolRefAttr:$group);
  let results = (outs AnyRankedTensor:$kept);
  let assemblyFormat = "$unit `(` $parameters `)` `over` $group attr-dict `:` functional-type($parameters, $kept)";
}
def FSDP_ReleaseOp : FSDP_UnitStepOp<"release"> {
  let summary = "frees a unit's gathered buffer; its tensors may not be used after";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$parameters);
  let assemblyFormat = "$unit `(` $parameters `)` attr-dict `:` type($parameters)";
}
def FSDP_FlatGradientsOp : FSDP_UnitStepOp<"flat_gradients"> {
  let summary = "the unit's gradients in its flat gradient buffer: where their producers write them; padding holds zeros";
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<AnyRankedTensor>:$gradients);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat = "$unit `(` $gradients `)` attr-dict `:` functional-type($gradients, $flat)";
}
def FSDP_ReduceScatterStartOp : FSDP_UnitStepOp<"reduce_scatter_start"> {
  let summary = "begins to sum a (slice of a) flat gradient over a group, each rank keeping its slice; the sum is in rank order";
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$flat, FlatSymbolRefAttr:$group, UnitAttr:$last);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit $flat `over` $group (`last` $last^)? attr-dict `:` type($flat)";
}
def FSDP_ReduceScatterWaitOp : FSDP_UnitStepOp<"reduce_scatter_wait"> {
  let summary = "the rank's slice of the sum";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$shard);
  let assemblyFormat = "$token attr-dict `:` type($shard)";
  let hasVerifier = 1;
}
def FSDP_AllReduceGradientsStartOp : FSDP_UnitStepOp<"all_reduce_gradients_start"> {
  let summary = "begins to sum a (slice of a) flat gradient over a group, every rank keeping all of it; the sum is in rank order";
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$flat, FlatSymbolRefAttr:$group, UnitAttr:$last);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit $flat `over` $group (`last` $last^)? attr-dict `:` type($flat)";
}
def FSDP_AllReduceGradientsWaitOp : FSDP_UnitStepOp<"all_reduce_gradients_wait"> {
  let summary = "the sum";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$flat);
  let assemblyFormat = "$token attr-dict `:` type($flat)";
  let hasVerifier = 1;
}
def FSDP_AccumulateOp : FSDP_StepOp<"accumulate", [AllTypesMatch<["value", "sum"]>]> {
  let summary = "a value summed over the micro-batches of a step; the sum is there in the last one";
  let description = [{
    With one micro-batch the value itself: no copy, no memory. The accumulator has the master type (`accumulator_type`) where
    it adds reduced gradients, so that many micro-batches lose nothing in 16 bits.
  }];
  let arguments = (ins AnyRankedTensor:$value, TypeAttr:$accumulator_type);
  let results = (outs AnyRankedTensor:$sum);
  let assemblyFormat = "$value `in` $accumulator_type attr-dict `:` type($value)";
}
def FSDP_GradientNormOp : FSDP_StepOp<"gradient_norm"> {
  let summary = "power sum of flat gradients for the norm to clip by, in float64";
  let description = [{
    The operands are flat gradients or equal slices of them, one per unit. Each is cut into product(slices) equal slices; the
    slices are summed as a tree of `slices` levels, outermost first, each level in order. For `slices = [2, 4]`:

    ```
    partial(s) = sum over operands of (sum of |g|^p in the operand's slice s)    // one fixed order
    result = (partial(0) + ... + partial(3)) + (partial(4) + ... + partial(7))
    ```

    p is the run's (--clip-norm: 1, 2; for inf the sum is a maximum). With `full` each rank has one slice of every unit and the
    all-reduces, dimension by dimension, add in the same order; with `none` every rank adds all slices itself: the same numbers
    in the same order, so the same bits.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$gradients, DenseI64ArrayAttr:$slices);
  let results = (outs AnyRankedTensor:$partial);
  let assemblyFormat = "$gradients attr-dict `:` functional-type($gradients, $partial)";
  let hasVerifier = 1;
}
def FSDP_AllReduceStartOp : FSDP_StepOp<"all_reduce_start", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "begins to sum small tensors over a group, in rank order, as one collective";
  let description = [{
    norms[i]: value i comes from `fsdp.gradient_norm`; it is summed, or with the norm inf its maximum taken.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values, FSDP_PhaseAttr:$phase, FlatSymbolRefAttr:$group, DenseBoolArrayAttr:$norms);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$phase `(` $values `)` `over` $group attr-dict `:` type($values)";
  let hasVerifier = 1;
}
def FSDP_AllReduceWaitOp : FSDP_StepOp<"all_reduce_wait"> {
  let summary = "the sums";
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let assemblyFormat = "$token attr-dict `:` type($sums)";
  let hasVerifier = 1;
}
def FSDP_MetricOp : FSDP_StepOp<"metric"> {
  let summary = "hands a scalar to the trainer's metrics under a name (loss, gradient_norm)";
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def FSDP_OptimizerStepOp : FSDP_UnitStepOp<"optimizer_step"> {
  let summary = "updates the rank's optimizer slice of a unit from the gradient's, and writes it as parameters";
  let description = [{
    The gradient is divided by what the run says (loss scale, --grad-divide) and multiplied by min(1, clip / (norm + 1e-6))
    where the run clips (torch.nn.utils.clip_grad_norm_). `kind` is a name of runtime/device/Optimizers.h; the numbers
    (lr, betas, ...) are the run's. The cast of the updated master weights to the unit's element type is part of the write:
    all-gathers carry that type, and no gathered buffer is ever cast.
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient, AnyRankedTensor:$norm, StrAttr:$kind);
  let assemblyFormat = "$unit `(` $gradient `,` $norm `)` $kind attr-dict `:` type($gradient) `,` type($norm)";
  let hasVerifier = 1;
}
def FSDP_AllGatherUpdatesStartOp : FSDP_UnitStepOp<"all_gather_updates_start"> {
  let summary = "begins to gather what the group's optimizers wrote, where their slices are finer than those of the parameters";
  let arguments = (ins FlatSymbolRefAttr:$unit, FlatSymbolRefAttr:$group);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `over` $group attr-dict";
}
def FSDP_AllGatherUpdatesWaitOp : FSDP_UnitStepOp<"all_gather_updates_wait"> {
  let summary = "the rank's slice of the parameters is updated whole";
  let arguments = (ins FSDP_Token:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

#endif
