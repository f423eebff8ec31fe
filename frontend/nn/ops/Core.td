// Parameters, constants: where values come from.
#ifndef SHARDC_FRONTEND_NN_OPS_CORE_TD
#define SHARDC_FRONTEND_NN_OPS_CORE_TD
include "frontend/nn/NN.td"

def NN_ParameterOp : Op<NN_Dialect, "parameter", [Symbol]> {
  let summary = "a stored tensor of the model, by name";
  let description = [{
    A parameter or buffer of the model. The symbol name is PyTorch's name where the file knows it,
    else the initializer's. `type` is the parameter's own (PyTorch) orientation; `transposed` says
    that the file stores the transpose. The values lie at [offset, offset+length) of `file`
    (relative to the model's folder; empty: the model file itself), in bytes, little-endian, in
    `stored_type`. Refused are a type that is no tensor of static shape, a transpose of other than
    2 dims, a negative offset or length, and a trainable parameter that has no floats.

    ```mlir
    nn.parameter @"layers.0.attn.q_proj.weight" : tensor<64x64xf32>
      {initializer = "val_14", file = "model.onnx.data", offset = 0 : i64, length = 16384 : i64,
       stored_type = f32, transposed, trainable, scope = "layers.0.attn.q_proj"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
    // Name in the ONNX graph.
    StrAttr:$initializer,
    StrAttr:$file, I64Attr:$offset, I64Attr:$length, TypeAttr:$stored_type,
    UnitAttr:$transposed,
    UnitAttr:$trainable,
    // A parameter that the user does not want trained (never a buffer).
    UnitAttr:$frozen,
    // The module that owns it, e.g. "layers.0.attn.q_proj".
    OptionalAttr<StrAttr>:$scope,
    // How PyTorch would initialise it: see docs/architecture.md, "Initial values".
    OptionalAttr<StrAttr>:$init,
    // Further initializers and uses of the same parameter, for the ONNX export.
    OptionalAttr<ArrayAttr>:$bindings
  );
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def NN_GetParameterOp : NN_Op<"get_parameter", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter";
  let description = [{
    All of the tensor, in its own (PyTorch) orientation. Refused are a symbol that is no
    `nn.parameter`, and a result of another type than the parameter's. `fsdp-shard` replaces those
    of parameters that lie in units.

    ```mlir
    nn.parameter @"norm.weight" : tensor<64xf32> {trainable, ...}
    %gamma = nn.get_parameter @"norm.weight" : tensor<64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
}

def NN_StopGradientOp : NN_MoveOp<"stop_gradient",
    [AllTypesMatch<["input", "result"]>, NN_HasGradient, NN_IsGradientRule]> {
  let summary = "the input, through which no gradient flows: nowhere, or not where `where` is true";
  let description = [{
    PyTorch's detach(), and with `where` what does without a gradient of its own: the rows of an
    embedding that padding_idx names. Input and result have one type, of floats; `where` is i1 of
    their shape. All else is refused. `nn-differentiate` leaves none behind: a forward pass alone
    has no use for it.

    ```mlir
    %y = nn.stop_gradient %x where %isPadding
        : (tensor<512x64xf32>, tensor<512x64xi1>) -> tensor<512x64xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, Optional<NN_Bool>:$where);
  let results = (outs NN_Float:$result);
  let assemblyFormat =
    "$input (`where` $where^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_StraightThroughOp : NN_MoveOp<"straight_through",
    [AllTypesMatch<["input", "through", "result"]>, NN_HasGradient, NN_IsGradientRule]> {
  let summary = "the input, whose gradient is that of `through`";
  let description = [{
    The straight-through estimator: what a quantized value is, learned as if it had not been rounded
    (Bengio, Léonard and Courville, https://arxiv.org/abs/1308.3432). The gradient of `through` is
    the result's, `input` has none. All three have one type, of floats; all else is refused.
    `nn-differentiate` leaves none behind: a forward pass alone has no use for it.

    ```mlir
    %y = nn.straight_through %rounded to %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins NN_Float:$input, NN_Float:$through);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input `to` $through attr-dict `:` type($result)";
}

def NN_StridedAttr : AttrDef<NN_Dialect, "Strided", [ElementsAttrInterface]> {
  let mnemonic = "strided";
  let summary = "a tensor's elements as a view of fewer stored ones";
  let description = [{
    The element at `index` is `values[start + sum of index[d] * strides[d]]`. A mask [S, S] that
    depends on key - query alone is one of 2 S - 1 values with strides [-1, 1]. The importer makes
    them, for masks are recognised without being written out; `nn-raise` leaves none behind. Refused
    are values of another element type than the tensor's, other than one stride per dim, and
    elements outside the values.

    ```mlir
    %causal = nn.constant #nn.strided<dense<[1, 1, 1, 0, 0]> : tensor<5xi1>, start 2,
                                      strides [-1, 1]> : tensor<3x3xi1>
    ```
  }];
  let parameters = (ins AttributeSelfTypeParameter<"", "::mlir::RankedTensorType">:$type,
    "::mlir::DenseElementsAttr":$values, "int64_t":$start, ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $values `,` `start` $start `,` `strides` `[` $strides `]` `>`";
  let genVerifyDecl = 1;
}

def NN_ConstantOp : NN_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a compile-time constant";
  let description = [{
    ONNX Constant, and what folding leaves. The value is any attribute of elements, `#nn.strided`
    among them; the result has its type, a tensor of static shape.

    ```mlir
    %half = nn.constant dense<0.5> : tensor<4x64xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

#endif
