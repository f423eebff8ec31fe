// A table of embeddings whose rows travel to who looks them up, in place of the table, and
// their gradients back.
#ifndef SHARDC_CODEGEN_STEP_ROWS_TD
#define SHARDC_CODEGEN_STEP_ROWS_TD
include "codegen/step/Entries.td"

def Step_GatherRowsStartOp : Step_Entry<"gather_rows_start", [Step_StartsCollective]> {
  let summary = "begins to bring the rows of a unit's table that the ids name, out of the group's "
    "slices of it";
  let description = [{
    fsdp.gather_rows_start. The unit has one parameter, of two dims, at the beginning of its flat
    buffer; `rows` is [ids..., width] of its element_type. Both are contiguous. The workspace has
    the bytes of runtime/device/RowExchange.h. Until its one `step.wait` nothing may touch rows or
    write to ids (`step-verify`). The runtime refuses all else.

    ```mlir
    %t = step.gather_rows_start @layers.0 (%ids) into %rows over @shard workspace %scratch
        : (memref<4x128xi64>, memref<4x128x64xbf16>, memref<164864xui8>) -> !step.token
    step.wait %t
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$ids,
    Step_Writes<Step_View>:$rows, Step_Writes<Step_View>:$workspace, FlatSymbolRefAttr:$group);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{$unit `(` $ids `)` `into` $rows `over` $group `workspace` $workspace
    attr-dict `:` functional-type(operands, results)}];
}
def Step_ReduceRowsStartOp : Step_Entry<"reduce_rows_start", [Step_ReducesGradients]> {
  let summary = "begins to sum the gradients of a unit's table over the group, each rank keeping "
    "its slice, from the rows that the ids name";
  let description = [{
    fsdp.reduce_rows_start. gradient is [ids..., width], contiguous as ids are; shard has one dim,
    the elements of the rank's slice of the unit's flat gradient, and the type in which elements of
    the gradient are added, which is the unit's gradient_type. The accumulator is that of
    `step.reduce_scatter_start`, of the shard's type. The workspace has the bytes of
    runtime/device/RowExchange.h. Until its one `step.wait` nothing may write to gradient and ids or
    touch shard (`step-verify`). The runtime refuses all else.

    ```mlir
    %t = step.reduce_rows_start @layers.0 (%dx, %ids) into %s over @shard workspace %scratch
        : (memref<4x128x64xf32>, memref<4x128xi64>, memref<1152xf32>, memref<287744xui8>)
        -> !step.token
    step.wait %t
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Step_Reads<Step_View>:$gradient,
    Step_Reads<Step_View>:$ids, Step_Writes<Step_View>:$shard,
    Step_Updates<Optional<Step_View>>:$accumulator, Step_Writes<Step_View>:$workspace,
    FlatSymbolRefAttr:$group);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{$unit `(` $gradient `,` $ids `)` `into` $shard (`in` $accumulator^)?
    `over` $group `workspace` $workspace attr-dict `:` functional-type(operands, results)}];
}

#endif
