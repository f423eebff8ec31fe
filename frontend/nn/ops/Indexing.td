// Ops that read or write at positions known at run time.
#ifndef SHARDC_FRONTEND_NN_OPS_INDEXING_TD
#define SHARDC_FRONTEND_NN_OPS_INDEXING_TD
include "frontend/nn/NN.td"

def NN_EmbeddingOp : NN_MoveOp<"embedding",
    [NN_HasGradient, NN_HasLibraryCall, NN_ReadsPositions]> {
  let summary =
    "rows of a table: result[..., :] = table[ids[...], :]; an id outside [0, rows) stops the run";
  let description = [{
    torch.nn.Embedding. table [rows, width] of any element type, ids i32 or i64 of any shape; the
    result is [ids..., width] of the table's type. All else is refused. The table's gradient is
    `nn.embedding_grad`.

    ```mlir
    %x = nn.embedding %table, %ids
        : (tensor<512x64xf32>, tensor<4x128xi64>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$table, NN_Int:$ids);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_EmbeddingGradOp : NN_ComputeOp<"embedding_grad",
    [NN_WideResult, NN_HasLibraryCall, NN_ReadsPositions]> {
  let summary = "gradient of the table: rows of `gradient` added at `ids`, in order of the ids; "
    "float32 of 16 bits is not rounded";
  let description = [{
    gradient [ids..., width] of the embedding's result, ids i32 or i64, and the result
    [rows, width]: a float type, or float32 where the gradient has 16 bits. The rows are added to
    zeros, or to `base` of the result's type: another gradient of the same table, where the weights
    of an output layer are tied to it. A base that nothing else reads is changed in place, so that
    no second table is there. Other shapes and types are refused; an id outside [0, rows) stops the
    run.

    ```mlir
    %dtable = nn.embedding_grad %dx, %ids onto %dhead
        : (tensor<4x128x64xf32>, tensor<4x128xi64>, tensor<512x64xf32>) -> tensor<512x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Int:$ids, Optional<NN_Float>:$base);
  let results = (outs NN_Float:$result);
  let assemblyFormat =
    "$gradient `,` $ids (`onto` $base^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_GatherOp : NN_MoveOp<"gather", [NN_HasGradient, NN_HasLibraryCall, NN_ReadsPositions]> {
  let summary =
    "ONNX Gather: slices of data along `axis` at indices (negative ones count from the end)";
  let description = [{
    data of any element type with dims before and after `axis`, indices i32 or i64 of any shape; the
    result is [before..., indices..., after...] of data's type. All else is refused, and so is an
    axis outside [0, rank). An index outside [-size, size) stops the run. The gradient of data is
    `nn.gather_grad`.

    ```mlir
    %y = nn.gather %x, %i {axis = 1 : i64}
        : (tensor<4x128x64xf32>, tensor<2xi64>) -> tensor<4x2x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$data, NN_Int:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_GatherGradOp : NN_ComputeOp<"gather_grad",
    [NN_WideResult, NN_HasGradient, NN_HasLibraryCall]> {
  let summary = "gradient of gather's data: slices of `gradient` added at `indices`, in order; "
    "float32 of 16 bits is not rounded";
  let description = [{
    gradient [before..., indices..., after...] of the gather's result, indices i32 or i64; the
    result has data's shape and the gradient's float type, or float32 where that has 16 bits. All
    else is refused, and so is an axis outside [0, rank). An index outside [-size, size) stops the
    run. ONNX Scatter is made of it, too; the gradient of what is added is read where it went.

    ```mlir
    %dx = nn.gather_grad %dy, %i {axis = 1 : i64}
        : (tensor<4x2x64xf32>, tensor<2xi64>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$gradient, NN_Int:$indices, I64Attr:$axis);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$gradient `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_GatherNdOp : NN_MoveOp<"gather_nd", [NN_HasGradient, NN_HasLibraryCall]> {
  let summary = "ONNX GatherND: slices of data at the index tuples in the last dim of indices";
  let description = [{
    data [batch..., indexed..., rest...] of any element type, indices [batch..., tuples..., n] of
    i32 or i64, negative ones counting from the end: with `batch_dims` dims of batch, a tuple of n
    picks one element of the n dims indexed. The result is [batch..., tuples..., rest...] of data's
    type. Refused are batch_dims outside [0, the lower rank), unequal batch dims, tuples of less
    than 1 or more than the dims that data has left, and another result. An index outside
    [-size, size) stops the run. The gradient is an `nn.gather_grad` at the tuples' row-major
    positions.

    ```mlir
    %y = nn.gather_nd %x, %i {batch_dims = 1 : i64}
        : (tensor<4x128x64xf32>, tensor<4x2x1xi64>) -> tensor<4x2x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$data, NN_Int:$indices, I64Attr:$batch_dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}
def NN_TopKOp : NN_ComputeOp<"top_k", [NN_HasGradient, NN_HasLibraryCall]> {
  let summary = "ONNX TopK over the last dim: the largest elements of each row, in order, and "
    "where they are";
  let description = [{
    input [..., n] of numbers; values [..., k] of input's type and indices [..., k] of i64, k from 0
    to n. The largest comes first, with `smallest` the smallest; of equal elements the one with the
    lower index comes first; what is no number counts as the largest, as in torch.topk. Other shapes
    and types are refused. The gradient of values goes to the elements that were picked.

    ```mlir
    %values, %indices = nn.top_k %x {smallest}
        : (tensor<4x128xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
    ```
  }];
  let arguments = (ins NN_Number:$input, UnitAttr:$smallest);
  let results = (outs NN_Number:$values, NN_Int:$indices);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def NN_CumsumOp : NN_ComputeOp<"cumsum",
    [NN_IsReduction, SameOperandsAndResultType, NN_HasGradient, NN_HasLibraryCall]> {
  let summary = "running sum along `axis`";
  let description = [{
    ONNX CumSum: each element is the sum of those up to it; with `exclusive` of those before it,
    with `reverse` counted from the end. Input and result have one type, of any rank; an axis
    outside [0, rank) is refused. The gradient is a running sum in the other direction.

    ```mlir
    %y = nn.cumsum %x {axis = 1 : i64, exclusive} : tensor<4x128xi64>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
