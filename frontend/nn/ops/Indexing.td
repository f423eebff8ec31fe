// Ops that read or write at positions known at run time.
#ifndef SHARDC_FRONTEND_NN_OPS_INDEXING_TD
#define SHARDC_FRONTEND_NN_OPS_INDEXING_TD
include "frontend/nn/NN.td"

def NN_EmbeddingOp : NN_MoveOp<"embedding", [NN_HasGradient]> {
  let summary = "rows of a table: result[..., :] = table[ids[...], :]; an id outside [0, rows) stops the run";
  let arguments = (ins NN_Tensor:$table, NN_Int:$ids);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_EmbeddingGradOp : NN_ComputeOp<"embedding_grad", [NN_WideResult]> {
  let summary = "gradient of the table: rows of `gradient` added at `ids`, in order of the ids; float32 of 16 bits is not rounded";
  let description = [{
    The rows are added to zeros, or to `base`: another gradient of the same table, where the weights of an output layer are tied to
    it. A base that nothing else reads is changed in place, so that no second table is there.
  }];
  let arguments = (ins NN_Float:$gradient, NN_Int:$ids, Optional<NN_Float>:$base);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$gradient `,` $ids (`onto` $base^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_GatherOp : NN_MoveOp<"gather", [NN_HasGradient]> {
  let summary = "ONNX Gather: slices of data along `axis` at indices (negative ones count from the end)";
  let arguments = (ins NN_Tensor:$data, NN_Int:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_GatherGradOp : NN_ComputeOp<"gather_grad", [NN_WideResult]> {
  let summary = "gradient of gather's data: slices of `gradient` added at `indices`, in order; float32 of 16 bits is not rounded";
  let arguments = (ins NN_Float:$gradient, NN_Int:$indices, I64Attr:$axis);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$gradient `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_GatherNdOp : NN_MoveOp<"gather_nd", [NN_HasGradient]> {
  let summary = "ONNX GatherND: slices of data at the index tuples in the last dim of indices";
  let arguments = (ins NN_Tensor:$data, NN_Int:$indices, I64Attr:$batch_dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_CumsumOp : NN_ComputeOp<"cumsum", [SameOperandsAndResultType, NN_HasGradient]> {
  let summary = "running sum along `axis`";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
