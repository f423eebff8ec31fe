// Ops that move elements without computing on them.
#ifndef SHARDC_FRONTEND_NN_OPS_SHAPE_TD
#define SHARDC_FRONTEND_NN_OPS_SHAPE_TD
include "frontend/nn/NN.td"

class NN_ShapeOp<string mnemonic, list<Trait> traits = []> : NN_MoveOp<mnemonic, traits> {
  let results = (outs NN_Tensor:$result);
}
def NN_ReshapeOp : NN_ShapeOp<"reshape", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    ONNX Reshape, Flatten, Squeeze and Unsqueeze with sizes that are known. Elements of any type; a
    result with another number or type of elements is refused. The gradient is reshaped back.

    ```mlir
    %y = nn.reshape %x : (tensor<4x128x64xf32>) -> tensor<4x128x4x16xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_TransposeOp : NN_ShapeOp<"transpose", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "permutes dims: result dim i is input dim permutation[i]";
  let description = [{
    ONNX Transpose. Elements of any type. Refused are a permutation that does not name each of the
    input's dims once, and a result of another shape or element type. The gradient is transposed by
    the inverse permutation.

    ```mlir
    %y = nn.transpose %x [0, 2, 1, 3] : (tensor<4x128x8x16xf32>) -> tensor<4x8x128x16xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_BroadcastOp : NN_ShapeOp<"broadcast", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "repeats dims of size 1; input and result have the same rank";
  let description = [{
    ONNX Expand to a shape that is known; dims are added by `nn.reshape` before. Elements of any
    type. Refused are a result of another rank or element type, and a dim that changes its size and
    is not 1 in the input. The gradient is summed over the dims that were repeated.

    ```mlir
    %y = nn.broadcast %x : (tensor<1x64xf32>) -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_SliceOp : NN_ShapeOp<"slice", [NN_IsView, NN_HasGradient, NN_HasKernel]> {
  let summary = "elements starts[d], starts[d]+strides[d], ... below limits[d] of each dim; "
    "strides are positive";
  let description = [{
    XLA's Slice; ONNX Slice and Split whose bounds are known (`nn.reverse` stands for negative
    steps). Elements of any type. Each of the three lists has an entry per dim, with
    0 <= start <= limit <= size and stride >= 1; result dim d has ceil((limit - start) / stride)
    elements. All else is refused. The gradient is an `nn.pad`: zeros where nothing was taken.

    ```mlir
    %y = nn.slice %x [0, 1, 0] to [4, 128, 64] by [1, 2, 1]
        : (tensor<4x128x64xf32>) -> tensor<4x64x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
    DenseI64ArrayAttr:$strides);
  let assemblyFormat =
    "$input $starts `to` $limits `by` $strides attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def NN_ReverseOp : NN_ShapeOp<"reverse",
    [SameOperandsAndResultType, NN_HasGradient, NN_HasKernel]> {
  let summary = "reverses the order along the given dims";
  let description = [{
    torch.flip. Elements of any type; input and result have one type. Dims that the input lacks, or
    that are named twice, are refused. The gradient is reversed back.

    ```mlir
    %y = nn.reverse %x [1] : tensor<4x128xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$input $dims attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def NN_ConcatOp : NN_ShapeOp<"concat", [NN_HasGradient, NN_HasKernel, NN_HasLibraryCall]> {
  let summary = "inputs one after the other along `axis`";
  let description = [{
    ONNX Concat. Elements of any type. Refused are an op without inputs, an axis outside [0, rank),
    inputs that differ in rank, element type or a size of another dim, and a result that is not as
    long along `axis` as they are together. Each input's gradient is its slice of the result's.

    ```mlir
    %z = nn.concat %x, %y {axis = 1 : i64}
        : (tensor<4x100xf32>, tensor<4x28xf32>) -> tensor<4x128xf32>
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}
def NN_PadOp : NN_ShapeOp<"pad", [NN_HasGradient, NN_HasKernel, NN_HasLibraryCall]> {
  let summary =
    "zeros around the input: low[d] before and high[d] after, interior[d] between elements";
  let description = [{
    XLA's Pad with zeros: the transpose of `nn.slice`, whose gradient it is. Elements of any type.
    The three lists, low, high and interior, have an entry of 0 or more per dim; result dim d has
    low + high + size + (size - 1) interior elements. All else is refused. The gradient is a slice.

    ```mlir
    %y = nn.pad %x [0, 1] [0, 0] [0, 1] : (tensor<4x64xf32>) -> tensor<4x128xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
    DenseI64ArrayAttr:$interior);
  let assemblyFormat =
    "$input $low $high $interior attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
