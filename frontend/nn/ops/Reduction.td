// Reductions over dims; the reduced dims stay with size 1.
#ifndef SHARDC_FRONTEND_NN_OPS_REDUCTION_TD
#define SHARDC_FRONTEND_NN_OPS_REDUCTION_TD
include "frontend/nn/NN.td"

class NN_ReduceOp<string mnemonic, string what, string details, list<Trait> traits = []> :
    NN_ComputeOp<mnemonic, !listconcat(traits, [NN_IsReduction, NN_HasGradient, NN_HasKernel])> {
  let summary = what;
  let description = details # [{
    The result has the input's shape with size 1 in `dims`, and its element type where nothing else
    is said. All else is refused, and so are dims that the input lacks or that are named twice.

    ```mlir
    %y = nn.}] # mnemonic # [{ %x [1, 2] : (tensor<4x128x64xf32>) -> tensor<4x1x1xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input $dims attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_ReduceSumOp : NN_ReduceOp<"reduce_sum",
    "sum over dims; a sum of floats may have another float type", [{
    ONNX ReduceSum with keepdims. Floats are summed in float32 (float64 for float64) in one fixed
    order, and rounded once to the result's type; integers wrap. The gradient is broadcast back.
  }], [NN_MixedTypes]>;
def NN_ReduceMeanOp : NN_ReduceOp<"reduce_mean", "mean over dims", [{
    ONNX ReduceMean with keepdims: the sum, divided by the number of elements that were added;
    integers truncate towards zero, and a mean of no integers is an error where it is folded. The
    gradient is broadcast back, divided likewise.
  }]>;
def NN_ReduceMaxOp : NN_ReduceOp<"reduce_max", "largest over dims", [{
    ONNX ReduceMax with keepdims: NaN where one is, and the lowest value of the type (-inf) where
    there is none. Elements that are the largest share the gradient equally, as in torch.amax.
  }]>;
def NN_ReduceMinOp : NN_ReduceOp<"reduce_min", "smallest over dims", [{
    ONNX ReduceMin with keepdims: NaN where one is, and the highest value of the type (inf) where
    there is none. Elements that are the smallest share the gradient equally, as in torch.amin.
  }]>;
def NN_ReduceProdOp : NN_ReduceOp<"reduce_prod", "product over dims", [{
    ONNX ReduceProd with keepdims; integers wrap. An element's gradient is dy times the product of
    the others.
  }]>;

#endif
