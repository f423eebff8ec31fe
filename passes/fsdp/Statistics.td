// What ranks agree on within a pass through the model.
#ifndef SHARDC_PASSES_FSDP_STATISTICS_TD
#define SHARDC_PASSES_FSDP_STATISTICS_TD
include "passes/fsdp/Dialect.td"

def FSDP_RankMeanOp : FSDP_Op<"rank_mean", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "the mean of a value over all ranks";
  let description = [{
    What `nn-expand-batch-norms` writes with `sync`: of floats of any shape. It is pure, and its own
    gradient. `fsdp-shard` makes a sum of it, over one dimension of the mesh after the other
    (`fsdp.all_reduce_start`), times 1 / ranks: every rank runs the same ones in the same order.

    ```mlir
    %all = fsdp.rank_mean %mean : tensor<1x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif
