// Ops that move elements without computing on them.
#ifndef SHARDC_FRONTEND_NN_OPS_SHAPE_TD
#define SHARDC_FRONTEND_NN_OPS_SHAPE_TD
include "frontend/nn/NN.td"

class NN_ShapeOp<string mnemonic, list<Trait> traits = []> : NN_MoveOp<mnemonic, traits> {
  let results = (outs NN_Tensor:$result);
}
def NN_ReshapeOp : NN_ShapeOp<"reshape", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins NN_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_TransposeOp : NN_ShapeOp<"transpose", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "permutes dims: result dim i is input dim permutation[i]";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_BroadcastOp : NN_ShapeOp<"broadcast", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "repeats dims of size 1; input and result have the same rank";
  let arguments = (ins NN_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_SliceOp : NN_ShapeOp<"slice", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "elements starts[d], starts[d]+strides[d], ... below limits[d] of each dim; strides are positive";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let assemblyFormat = "$input $starts `to` $limits `by` $strides attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_ReverseOp : NN_ShapeOp<"reverse", [SameOperandsAndResultType, NN_HasGradient, NN_HasKernel]> {
  let summary = "reverses the order along the given dims";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$input $dims attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def NN_ConcatOp : NN_ShapeOp<"concat", [NN_HasGradient, NN_HasKernel]> {
  let summary = "inputs one after the other along `axis`";
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}
def NN_PadOp : NN_ShapeOp<"pad", [NN_HasGradient, NN_HasKernel]> {
  let summary = "zeros around the input: low[d] before and high[d] after, interior[d] between elements";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let assemblyFormat = "$input $low $high $interior attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
