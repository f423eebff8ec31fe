// The importer as a pass, so that it can be run and tested from the command line.
#ifndef SHARDC_FRONTEND_ONNX_PASSES_TD
#define SHARDC_FRONTEND_ONNX_PASSES_TD
include "mlir/Pass/PassBase.td"

def OnnxImport : Pass<"onnx-import", "::mlir::ModuleOp"> {
  let summary = "fills an empty module from a .onnx file";
  let description = [{
    Needs: an empty module.

    Before: `shardc-opt --onnx-import="path=model.onnx dims=batch=4,sequence=128"` on
    ```mlir
    module {}
    ```

    After: the import phase of docs/architecture.md,
    ```mlir
    module attributes {nn.model = "model.onnx"} {
      nn.parameter @layers.0.weight : tensor<10x32xf32> {trainable, ...}
      func.func @model(%x: tensor<4x32xf32> {nn.name = "x", nn.role = "input"})
          -> (tensor<4x10xf32> {nn.name = "logits"}) {
        %w = nn.get_parameter @layers.0.weight : tensor<10x32xf32>
        %y = nn.linear %x, %w {transpose_weight}
            : (tensor<4x32xf32>, tensor<10x32xf32>) -> tensor<4x10xf32>
        return %y : tensor<4x10xf32>
      }
    }
    ```

    Why here: first of all. The driver calls the importer directly; the pass is for shardc-opt and
    tests.
  }];
  let options = [
    Option<"path", "path", "std::string", "\"\"", "the .onnx file">,
    ListOption<"dims", "dims", "std::string", "sizes of symbolic dims, NAME=N">,
    Option<"allowMissingWeights", "allow-missing-weights", "bool", "false",
      "external data need not be there">,
    Option<"exportTo", "export-to", "std::string", "\"\"",
      "writes the model, split as for training, to this file">
  ];
  let dependentDialects = ["::shardc::nn::NNDialect", "::mlir::func::FuncDialect"];
}

#endif
