// What ranks agree on within a pass through the model.
#ifndef SHARDC_PASSES_FSDP_STATISTICS_TD
#define SHARDC_PASSES_FSDP_STATISTICS_TD
include "frontend/nn/NNInterfaces.td"
include "passes/fsdp/Dialect.td"

def FSDP_RankSumOp : FSDP_Op<"rank_sum", [Pure, AllTypesMatch<["input", "result"]>,
                                          DeclareOpInterfaceMethods<NN_Differentiable>]> {
  let summary = "the sum of a value over all ranks";
  let description = [{
    What `nn-sum-over-ranks` writes of sums over samples, and `nn-expand-batch-norms` with `sync`:
    of floats of any shape. It is pure. Its gradient is the sum of the ranks' gradients: what each
    of them computes from the result adds to the loss. `fsdp-shard` makes a sum of it over one
    dimension of the mesh after the other (`fsdp.all_reduce_start`): every rank runs the same ones
    in the same order.

    ```mlir
    %all = fsdp.rank_sum %sum : tensor<1x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif
