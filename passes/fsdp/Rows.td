// A unit that is a table of embeddings, of which rows travel instead of it.
#ifndef SHARDC_PASSES_FSDP_ROWS_TD
#define SHARDC_PASSES_FSDP_ROWS_TD
include "passes/fsdp/Dialect.td"

def FSDP_GatherRowsStartOp : FSDP_UnitStepOp<"gather_rows_start", [FSDP_StartsCollective]> {
  let summary = "begins to look up rows of a table that lies in slices: they travel, the table "
    "does not";
  let description = [{
    What `nn.embedding` of the gathered unit would give. The unit has one parameter, a table [rows,
    width] at the beginning of its flat buffer, in slices of whole rows over the group, whose ranks
    divide the width. All else is refused. What moves is independent of the ids
    (`runtime/device/RowExchange.h`). The token goes to one `fsdp.gather_rows_wait` (`fsdp-verify`).

    ```mlir
    fsdp.unit @table {parameters = [@weight], offsets = array<i64: 0>, elements = 4096 : i64,
                      padding = 0 : i64, shards = 4 : i64, optimizer_shards = 4 : i64,
                      reshard = 4 : i64, element_type = bf16, master_type = f32,
                      gradient_type = f32, reason = "used before the first block"}
    %t = fsdp.gather_rows_start @table(%ids) over @shard : tensor<4x128xi64>
    %x = fsdp.gather_rows_wait %t : tensor<4x128x64xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$ids, FlatSymbolRefAttr:$group);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = "$unit `(` $ids `)` `over` $group attr-dict `:` type($ids)";
}
def FSDP_GatherRowsWaitOp : FSDP_UnitStepOp<"gather_rows_wait", [FSDP_EndsCollective]> {
  let summary = "the rows that the ids name: [ids..., width] of the unit's element_type";
  let description = [{
    Waits until they are there. Refused are other types, and a token that no
    `fsdp.gather_rows_start` made.

    ```mlir
    fsdp.unit @table {parameters = [@weight], offsets = array<i64: 0>, elements = 4096 : i64,
                      padding = 0 : i64, shards = 4 : i64, optimizer_shards = 4 : i64,
                      reshard = 4 : i64, element_type = bf16, master_type = f32,
                      gradient_type = f32, reason = "used before the first block"}
    %t = fsdp.gather_rows_start @table(%ids) over @shard : tensor<4x128xi64>
    %x = fsdp.gather_rows_wait %t : tensor<4x128x64xbf16>
    ```
  }];
  let arguments = (ins FSDP_Token:$token);
  let results = (outs AnyRankedTensor:$rows);
  let assemblyFormat = "$token attr-dict `:` type($rows)";
  let hasVerifier = 1;
}
def FSDP_ReduceRowsStartOp : FSDP_UnitStepOp<"reduce_rows_start", [FSDP_StartsCollective]> {
  let summary = "begins to sum the gradients of a table over a group, each rank keeping its slice, "
    "from those of the rows that were looked up";
  let description = [{
    What `fsdp.reduce_scatter_start` makes of `nn.embedding_grad`: of every rank the gradients of a
    row are added in the order of its ids, in the unit's gradient_type, and these sums in rank
    order. The unit is that of an `fsdp.gather_rows_start`; gradient is [ids..., width]; the unit's
    gradient_type is the type in which its elements are added, so that nothing is rounded before the
    sum. All else is refused. `accumulated` is that of `fsdp.reduce_scatter_start`. The token goes
    to one `fsdp.reduce_scatter_wait` (`fsdp-verify`).

    ```mlir
    fsdp.unit @table {parameters = [@weight], offsets = array<i64: 0>, elements = 4096 : i64,
                      padding = 0 : i64, shards = 4 : i64, optimizer_shards = 4 : i64,
                      reshard = 4 : i64, element_type = bf16, master_type = f32,
                      gradient_type = f32, reason = "used before the first block"}
    %t = fsdp.reduce_rows_start @table(%dx, %ids) over @shard accumulated
        : tensor<4x128x64xbf16>, tensor<4x128xi64>
    %g = fsdp.reduce_scatter_wait %t : tensor<1024xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, AnyRankedTensor:$gradient, AnyRankedTensor:$ids,
    FlatSymbolRefAttr:$group, UnitAttr:$accumulated);
  let results = (outs FSDP_Token:$token);
  let assemblyFormat = [{$unit `(` $gradient `,` $ids `)` `over` $group
    (`accumulated` $accumulated^)? attr-dict `:` type($gradient) `,` type($ids)}];
}

#endif
