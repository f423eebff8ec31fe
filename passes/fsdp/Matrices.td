// Optimizers that need a whole matrix: slices of directions go to the rank that owns the matrix,
// and what it makes of them comes back.
#ifndef SHARDC_PASSES_FSDP_MATRICES_TD
#define SHARDC_PASSES_FSDP_MATRICES_TD
include "passes/fsdp/Dialect.td"

def FSDP_MatrixDirectionOp : FSDP_UnitStepOp<"matrix_direction"> {
  let summary = "where the optimizer would go from the rank's slice of each matrix, element by "
    "element; updates the matrices' state";
  let description = [{
    What an optimizer of whole matrices does before it sees them whole: for `muon` the momentum,
    whose state it updates, and Nesterov's step. The gradient is scaled and clipped as
    `fsdp.optimizer_step` has it, and a step that is skipped leaves the state as it is. Elements of
    the slice that belong to no matrix are not written.

    The gradient and the norm are those of the unit's `fsdp.optimizer_step`; the direction has as
    many elements as the gradient, in f64 where the unit's master_type is that, else f32. Refused
    are other types, a kind that takes no whole matrices, and a unit that is frozen.

    ```mlir
    %d = fsdp.matrix_direction @layers.0(%g, %norm) "muon"
        : (tensor<576xf32>, tensor<f64>) -> tensor<576xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient, AnyRankedTensor:$norm,
    StrAttr:$kind);
  let results = (outs AnyRankedTensor:$direction);
  let assemblyFormat =
    "$unit `(` $gradient `,` $norm `)` $kind attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// Matrix i begins at element offsets[i] of the flat buffer of units[unit_of[i]]. Rank owners[i] has
// it as tensor slots[i].
class FSDP_MatricesOp<string mnemonic> :
    FSDP_StepOp<mnemonic, [FSDP_StartsCollective,
                           DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def FSDP_GatherMatricesStartOp : FSDP_MatricesOp<"gather_matrices_start"> {
  let summary = "begins to bring matrices from the ranks' slices to their owners: an all-to-all "
    "over all ranks";
  let description = [{
    Slice j is the rank's optimizer slice of units[j]. Matrix i lies in the flat buffer of
    units[unit_of[i]] from element offsets[i] on; rank owners[i] gets it as result slots[i] of the
    wait, whose shape it has. Results that a rank gets no matrix for hold nothing.

    Lists of one length each are checked, and that no rank gets two matrices as one tensor. The
    token goes to one `fsdp.gather_matrices_wait` (`fsdp-verify`).

    ```mlir
    %t = fsdp.gather_matrices_start (%d) {units = [@layers.0], unit_of = array<i64: 0>,
        offsets = array<i64: 0>, owners = array<i64: 5>, slots = array<i64: 0>} : tensor<576xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$slices,
    TypedArrayAttrBase<FlatSymbolRefAttr, "names of units">:$units, DenseI64ArrayAttr:$unit_of,
    DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$owners, DenseI64ArrayAttr:$slots);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "`(` $slices `)` attr-dict `:` type($slices)";
  let hasVerifier = 1;
}
def FSDP_GatherMatricesWaitOp : FSDP_StepOp<"gather_matrices_wait", [FSDP_EndsCollective]> {
  let summary = "the matrices, on their owners";
  let description = [{
    Waits until they are there. Refused are results of other than two dims, and a token that no
    `fsdp.gather_matrices_start` made.

    ```mlir
    %t = fsdp.gather_matrices_start (%d) {units = [@layers.0], unit_of = array<i64: 0>,
        offsets = array<i64: 0>, owners = array<i64: 5>, slots = array<i64: 0>} : tensor<576xf32>
    %m = fsdp.gather_matrices_wait %t : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$matrices);
  let assemblyFormat = "$token attr-dict `:` type($matrices)";
  let hasVerifier = 1;
}
def FSDP_ScatterMatricesStartOp :
    FSDP_Op<"scatter_matrices_start", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments,
            FSDP_StartsCollective, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "begins to bring what the owners made of matrices back to the ranks' slices";
  let description = [{
    The way back of `fsdp.gather_matrices_start`, whose attributes it has: tensor slots[i] of rank
    owners[i] goes to the slices of its rows, on every rank that holds one. It is written over the
    slices, which nothing else may read afterwards.

    ```mlir
    %t = fsdp.scatter_matrices_start (%o) over (%d) {units = [@layers.0], unit_of = array<i64: 0>,
        offsets = array<i64: 0>, owners = array<i64: 5>, slots = array<i64: 0>}
        : (tensor<64x64xf32>), (tensor<576xf32>)
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$matrices, Variadic<AnyRankedTensor>:$slices,
    TypedArrayAttrBase<FlatSymbolRefAttr, "names of units">:$units, DenseI64ArrayAttr:$unit_of,
    DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$owners, DenseI64ArrayAttr:$slots);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = [{`(` $matrices `)` `over` `(` $slices `)` attr-dict `:`
    `(` type($matrices) `)` `,` `(` type($slices) `)`}];
  let hasVerifier = 1;
}
def FSDP_ScatterMatricesWaitOp : FSDP_StepOp<"scatter_matrices_wait", [FSDP_EndsCollective]> {
  let summary = "the ranks' slices, with the rows of what was made of the matrices";
  let description = [{
    Waits until they are there. There is a result for each slice of the start, of its type. Refused
    are other types, and a token that no `fsdp.scatter_matrices_start` made.

    ```mlir
    %t = fsdp.scatter_matrices_start (%o) over (%d) {units = [@layers.0], unit_of = array<i64: 0>,
        offsets = array<i64: 0>, owners = array<i64: 5>, slots = array<i64: 0>}
        : (tensor<64x64xf32>), (tensor<576xf32>)
    %u = fsdp.scatter_matrices_wait %t : tensor<576xf32>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs Variadic<AnyRankedTensor>:$directions);
  let assemblyFormat = "$token attr-dict `:` type($directions)";
  let hasVerifier = 1;
}

#endif
