// Optimizers that need a whole matrix: what happens element by element before, and the all-to-alls.
#ifndef SHARDC_CODEGEN_STEP_MATRICES_TD
#define SHARDC_CODEGEN_STEP_MATRICES_TD
include "codegen/step/Entries.td"

def Step_MatrixDirectionOp : Step_Entry<"matrix_direction"> {
  let summary = "fsdp.matrix_direction: the elementwise part of an optimizer of whole matrices";
  let description = [{
    It updates the state of matrices in the unit's `step.storage`. gradient and norm are as
    `step.optimizer_step` has them; direction is contiguous, has as many elements as gradient, and
    is f64 where the unit's master_type is, else f32. The runtime refuses all else, and a unit that
    is frozen.

    ```mlir
    step.matrix_direction @layers.0 "muon" (%g, %norm) into %d
        : (memref<576xf32>, memref<f64>, memref<576xf32>) -> ()
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$gradient,
    Step_Reads<Step_View>:$norm, StrAttr:$kind, Step_Writes<Step_View>:$direction);
  let assemblyFormat = [{$unit $kind `(` $gradient `,` $norm `)` `into` $direction attr-dict `:`
    functional-type(operands, results)}];
}
def Step_GatherMatricesStartOp :
    Step_Entry<"gather_matrices_start", [Step_StartsCollective, AttrSizedOperandSegments]> {
  let summary = "begins an all-to-all that brings matrices from the ranks' slices to their owners";
  let description = [{
    fsdp.gather_matrices_start: matrix i lies in the flat buffer of units[unit_of[i]] from element
    offsets[i] on, of which slice j is the rank's optimizer slice; rank owners[i] gets it in
    matrices[slots[i]]. All are contiguous and have one element type. A rank writes to matrices that
    it owns alone. Until its one `step.wait` nothing may write to the slices or touch the matrices
    (`step-verify`); the rest is the runtime's to check.

    ```mlir
    %t = step.gather_matrices_start (%d) into (%m) {units = [@layers.0], unit_of = array<i64: 0>,
        offsets = array<i64: 0>, owners = array<i64: 5>, slots = array<i64: 0>}
        : (memref<576xf32>, memref<64x64xf32>) -> !step.token
    step.wait %t
    ```
  }];
  let arguments = (ins Step_Reads<Variadic<Step_View>>:$slices,
    Step_Writes<Variadic<Step_View>>:$matrices,
    TypedArrayAttrBase<FlatSymbolRefAttr, "names of units">:$units, DenseI64ArrayAttr:$unit_of,
    DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$owners, DenseI64ArrayAttr:$slots);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{`(` $slices `)` `into` `(` $matrices `)` attr-dict `:`
    functional-type(operands, results)}];
}
def Step_ScatterMatricesStartOp :
    Step_Entry<"scatter_matrices_start", [Step_StartsCollective, AttrSizedOperandSegments]> {
  let summary = "begins the all-to-all back: rows of the owners' matrices to the ranks' slices";
  let description = [{
    fsdp.scatter_matrices_start, with the attributes of `step.gather_matrices_start`. What of a
    slice belongs to no matrix stays as it is. Until its one `step.wait` nothing may write to the
    matrices or touch the slices (`step-verify`).

    ```mlir
    %t = step.scatter_matrices_start (%m) into (%d) {units = [@layers.0], unit_of = array<i64: 0>,
        offsets = array<i64: 0>, owners = array<i64: 5>, slots = array<i64: 0>}
        : (memref<64x64xf32>, memref<576xf32>) -> !step.token
    step.wait %t
    ```
  }];
  let arguments = (ins Step_Reads<Variadic<Step_View>>:$matrices,
    Step_Updates<Variadic<Step_View>>:$slices,
    TypedArrayAttrBase<FlatSymbolRefAttr, "names of units">:$units, DenseI64ArrayAttr:$unit_of,
    DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$owners, DenseI64ArrayAttr:$slots);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{`(` $matrices `)` `into` `(` $slices `)` attr-dict `:`
    functional-type(operands, results)}];
}

#endif
