// The fsdp dialect: how a model trains on a mesh. Sharding units and the asynchronous collectives
// over their flat buffers.
#ifndef SHARDC_PASSES_FSDP_DIALECT_TD
#define SHARDC_PASSES_FSDP_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "passes/fsdp/CollectiveInterface.td"

def FSDP_Dialect : Dialect {
  let name = "fsdp";
  let cppNamespace = "::shardc::fsdp";
  let summary =
    "how a model trains on a mesh: units, asynchronous collectives, optimizer on shards";
  let description = [{
    A unit's flat buffer is the concatenation of its parameters (with padding so that every slice
    boundary falls on a row of the parameter that it cuts). The result of an all-gather is the
    parameters themselves: `all_gather_wait` returns one tensor per parameter, each a view of the
    gathered buffer. Gradients are written straight into a flat gradient buffer of the same layout,
    whose padding holds zeros (`flat_gradients`); collectives reduce it. Collectives come as start
    and wait; between them compute goes on. Ops of this dialect have side effects and stay in their
    order.

    A step is one or more micro-batches (a number of the run). Every micro-batch runs the whole
    function, but for what has the phase `optimizer` or the attribute `last`: that runs in the last
    micro-batch alone; and for what has the attribute `first`.

    The examples of this page stand in a module with these symbols: on a mesh of two by four ranks
    parameters are cut over four neighbours, the optimizer's state over all eight, and backward
    gathers within pairs.

    ```mlir
    nn.parameter @weight : tensor<64x64xbf16> {trainable, ...}
    nn.parameter @bias : tensor<64xbf16> {trainable, ...}
    fsdp.mesh @mesh {dims = array<i64: 2, 4>, names = ["replicate", "shard"],
                     shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1, 0>,
                     strategy = "hybrid_opt"}
    fsdp.group @replicate {stride = 4 : i64, size = 2 : i64}
    fsdp.group @shard {stride = 1 : i64, size = 4 : i64}
    fsdp.group @reshard.2 {stride = 1 : i64, size = 2 : i64}
    fsdp.unit @layers.0 {parameters = [@weight, @bias], offsets = array<i64: 0, 4096>,
                         elements = 4608 : i64, padding = 448 : i64, shards = 4 : i64,
                         optimizer_shards = 8 : i64, reshard = 2 : i64, element_type = bf16,
                         master_type = f32, gradient_type = f32, reason = "block 1 of 12"}
    ```
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class FSDP_Type<string name, string typeMnemonic> : TypeDef<FSDP_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def FSDP_Token : FSDP_Type<"Token", "token"> {
  let summary = "a collective on its way";
}

class FSDP_Op<string mnemonic, list<Trait> traits = []> : Op<FSDP_Dialect, mnemonic, traits>;
// An op of a step. It reads and writes buffers that no SSA value names, so nothing may drop or
// reorder it.
class FSDP_StepOp<string mnemonic, list<Trait> traits = []> :
    FSDP_Op<mnemonic, !listconcat([MemoryEffects<[MemRead, MemWrite]>], traits)>;
// A step op that names a unit, or whose token comes from one that does: checked against the unit's
// layout.
class FSDP_UnitStepOp<string mnemonic, list<Trait> traits = []> :
    FSDP_StepOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

// Each start of a collective, and each wait for one.
defvar FSDP_StartsCollective = DeclareOpInterfaceMethods<FSDP_CollectiveStart>;
def FSDP_EndsCollective : NativeOpTrait<"EndsCollective"> { let cppNamespace = "::shardc::fsdp"; }

def FSDP_PhaseKind : I32EnumAttr<"PhaseKind", "part of a step", [
  I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"backward", 1>, I32EnumAttrCase<"optimizer", 2>]> {
  let cppNamespace = "::shardc::fsdp";
  let genSpecializedAttr = 0;
}
def FSDP_PhaseAttr : EnumAttr<FSDP_Dialect, FSDP_PhaseKind, "phase"> {
  let assemblyFormat = "`` $value";
}

#endif
