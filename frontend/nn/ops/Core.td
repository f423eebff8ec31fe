// Parameters, constants: where values come from.
#ifndef SHARDC_FRONTEND_NN_OPS_CORE_TD
#define SHARDC_FRONTEND_NN_OPS_CORE_TD
include "frontend/nn/NN.td"

def NN_ParameterOp : Op<NN_Dialect, "parameter", [Symbol]> {
  let summary = "a stored tensor of the model, by name";
  let description = [{
    A parameter or buffer of the model. The symbol name is PyTorch's name where the file knows it, else the
    initializer's. `type` is the parameter's own (PyTorch) orientation; `transposed` says that the file stores the
    transpose. The values lie at [offset, offset+length) of `file` (relative to the model's folder; empty: the model
    file itself), little-endian, in `stored_type`.

    ```mlir
    nn.parameter @"layers.0.attn.q_proj.weight" : tensor<64x64xf32>
      {initializer = "val_14", file = "model.onnx.data", offset = 0 : i64, length = 16384 : i64, stored_type = f32,
       transposed, trainable, scope = "layers.0.attn.q_proj"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
    StrAttr:$initializer,            // name in the ONNX graph
    StrAttr:$file, I64Attr:$offset, I64Attr:$length, TypeAttr:$stored_type,
    UnitAttr:$transposed,
    UnitAttr:$trainable,
    UnitAttr:$frozen,                // a parameter that the user does not want trained (never a buffer)
    OptionalAttr<StrAttr>:$scope,    // module that owns it, e.g. "layers.0.attn.q_proj"
    OptionalAttr<StrAttr>:$init,     // how PyTorch would initialise it: see docs/architecture.md, "Initial values"
    OptionalAttr<ArrayAttr>:$bindings // further initializers and uses of the same parameter, for the ONNX export
  );
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def NN_GetParameterOp : NN_Op<"get_parameter", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter";
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
}

def NN_StopGradientOp : NN_MoveOp<"stop_gradient", [AllTypesMatch<["input", "result"]>, NN_HasGradient]> {
  let summary = "the input, through which no gradient flows: nowhere, or not where `where` is true";
  let description = [{
    PyTorch's detach(), and with `where` what does without a gradient of its own: the rows of an embedding that padding_idx names.
    `nn-differentiate` leaves none behind: a forward pass alone has no use for it.
  }];
  let arguments = (ins NN_Float:$input, Optional<NN_Bool>:$where);
  let results = (outs NN_Float:$result);
  let assemblyFormat = "$input (`where` $where^)? attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_StridedAttr : AttrDef<NN_Dialect, "Strided", [ElementsAttrInterface]> {
  let mnemonic = "strided";
  let summary = "a tensor's elements as a view of fewer stored ones";
  let description = [{
    The element at `index` is `values[start + sum of index[d] * strides[d]]`. A mask [S, S] that depends on key - query alone is
    one of 2 S - 1 values with strides [-1, 1]. The importer makes them, for masks are recognised without being written out;
    `nn-raise` leaves none behind.
  }];
  let parameters = (ins AttributeSelfTypeParameter<"", "::mlir::RankedTensorType">:$type, "::mlir::DenseElementsAttr":$values,
                        "int64_t":$start, ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $values `,` `start` $start `,` `strides` `[` $strides `]` `>`";
  let genVerifyDecl = 1;
}

def NN_ConstantOp : NN_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a compile-time constant";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

#endif
