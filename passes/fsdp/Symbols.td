// What a module has once: its mesh, groups of ranks and units.
#ifndef SHARDC_PASSES_FSDP_SYMBOLS_TD
#define SHARDC_PASSES_FSDP_SYMBOLS_TD
include "passes/fsdp/Dialect.td"

def FSDP_MeshOp : FSDP_Op<"mesh", [Symbol]> {
  let summary = "the ranks: sizes of the mesh dimensions, outermost first, and over which "
    "dimensions what is cut";
  let description = [{
    Between steps parameters lie in slices over shard_dims (outermost first: a rank's slice is its
    coordinates in them as one number), master weights and optimizer state in slices over
    optimizer_dims, which begin with shard_dims. Over all other dims they are replicated. There is
    one in a module. `strategy` is the name that the command line gave. Refused are a mesh without
    dims, a dim below 1, more ranks than 64 bits count, other than one name per dim, lists that name
    a dim twice or one that the mesh lacks, and optimizer_dims that begin otherwise.

    ```mlir
    fsdp.mesh @mesh {dims = array<i64: 2, 8>, names = ["replicate", "shard"],
                     shard_dims = array<i64: 1>, optimizer_dims = array<i64: 1>,
                     strategy = "hybrid"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$dims, StrArrayAttr:$names,
    DenseI64ArrayAttr:$shard_dims, DenseI64ArrayAttr:$optimizer_dims, StrAttr:$strategy);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Product of dims.
    int64_t getRanks();
    /// Product of the dims listed in shard_dims: into how many slices parameters are cut. 1: every
    /// rank holds all.
    int64_t getShards();
    /// Product of the dims listed in optimizer_dims.
    int64_t getOptimizerShards();
  }];
}
def FSDP_GroupOp : FSDP_Op<"group", [Symbol]> {
  let summary = "ranks that communicate";
  let description = [{
    Rank r's group has the members base + k * stride, 0 <= k < size, with
    base = r - (r / stride % size) * stride; its rank in it is r / stride % size. The first of these
    are eight neighbours, the second those with equal places in two such groups. A size below 2 and
    a stride below 1 are refused.

    ```mlir
    fsdp.group @neighbours {stride = 1 : i64, size = 8 : i64}
    fsdp.group @counterparts {stride = 8 : i64, size = 2 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$stride, I64Attr:$size);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}
def FSDP_UnitOp : FSDP_Op<"unit", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a sharding unit: parameters gathered and released together, and the layout of "
    "their flat buffer";
  let description = [{
    offsets[i] is the first element of parameters[i] in the flat buffer of `elements` elements
    (padding included), which is cut into `shards` equal slices of elements / shards (1: every rank
    holds all), and for the optimizer into `optimizer_shards` (0: the unit is frozen: no gradient,
    no state). Either all parameters of a unit are trained or none is. Units stand in the order of
    their first use in forward.

    `element_type` is that of the gathered parameters, `master_type` that of the rank's own copy,
    which the optimizer updates, and of its state, `gradient_type` that of the flat gradients and
    their sums. `reshard` says what is left of the gathered parameters between forward and backward:
    1, all of them on every rank; `shards`, nothing but the rank's slice; N between, a slice over N
    neighbours, which gather among themselves. What `stays` is gathered once in a step, and held to
    its end, over all micro-batches. `reason` says in words why the unit was formed.

    Refused are types that are no floats, optimizer_shards that is no multiple of shards, elements
    that is no multiple of both, a reshard that does not divide shards, names that are no
    `nn.parameter` or stand there twice, offsets that do not ascend or leave the buffer, other
    padding than is left, a unit that stays and is resharded, and a slice boundary inside a
    parameter that does not fall between two of its rows (a row: the elements of one index of dim
    0).

    ```mlir
    fsdp.unit @head {parameters = [@weight], offsets = array<i64: 0>, elements = 4096 : i64,
                     padding = 0 : i64, shards = 8 : i64, optimizer_shards = 8 : i64,
                     reshard = 1 : i64, element_type = f32, master_type = f32,
                     gradient_type = f32, reason = "used after the last block"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefArrayAttr:$parameters,
    DenseI64ArrayAttr:$offsets, I64Attr:$elements, I64Attr:$padding, I64Attr:$shards,
    I64Attr:$optimizer_shards, I64Attr:$reshard, TypeAttr:$element_type, TypeAttr:$master_type,
    TypeAttr:$gradient_type, StrAttr:$reason,
    UnitAttr:$stays);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the optimizer updates it.
    bool isTrained() { return getOptimizerShards() != 0; }
    /// Whether its float32 masters are its bf16 parameters and what is missing to them
    /// (runtime/base/SplitMaster.h), as nn-precision said.
    bool splitsMaster();
    /// The flat gradient of the unit, and a 1/slices-th of it.
    ::mlir::RankedTensorType getFlatGradientType(int64_t slices = 1);
    /// The flat buffer of the parameters, and a 1/slices-th of it.
    ::mlir::RankedTensorType getFlatType(int64_t slices = 1);
    /// The parameters as tensors of the flat buffer: shapes of the `nn.parameter`s, the unit's
    /// element type.
    ::llvm::SmallVector<::mlir::Type> getParameterTypes(::mlir::SymbolTableCollection &symbolTable);
  }];
}

#endif
