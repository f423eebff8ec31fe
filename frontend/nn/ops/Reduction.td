// Reductions over dims; the reduced dims stay with size 1.
#ifndef SHARDC_FRONTEND_NN_OPS_REDUCTION_TD
#define SHARDC_FRONTEND_NN_OPS_REDUCTION_TD
include "frontend/nn/NN.td"

class NN_ReduceOp<string mnemonic, string what, list<Trait> traits = []> :
    NN_ComputeOp<mnemonic, !listconcat(traits, [NN_HasGradient, NN_HasKernel])> {
  let summary = what;
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input $dims attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_ReduceSumOp : NN_ReduceOp<"reduce_sum", "sum over dims; a sum of floats may have another float type", [NN_MixedTypes]>;
def NN_ReduceMeanOp : NN_ReduceOp<"reduce_mean", "mean over dims">;
def NN_ReduceMaxOp : NN_ReduceOp<"reduce_max", "largest over dims">;
def NN_ReduceMinOp : NN_ReduceOp<"reduce_min", "smallest over dims">;
def NN_ReduceProdOp : NN_ReduceOp<"reduce_prod", "product over dims">;

#endif
