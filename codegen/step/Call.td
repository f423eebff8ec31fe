// The call of a generated kernel, before memory is planned.
#ifndef SHARDC_CODEGEN_STEP_CALL_TD
#define SHARDC_CODEGEN_STEP_CALL_TD
include "codegen/step/Step.td"

def Step_CallOp : Step_Op<"call", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a generated kernel: a function of the module @kernels, on tensors";
  let description = [{
    The kernel is a `func.func` of linalg on tensors whose arguments are the inputs and whose
    results are the outputs. The compiled kernel takes the base pointers of the inputs, then those
    of the outputs, all row-major and contiguous. Refused are a kernel that is not there, and inputs
    and outputs of other types than its function's. `step-lower` turns it into `step.launch`.

    ```mlir
    module @kernels {
      func.func private @layer_norm_3f9a(tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
          -> (tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    }
    %y, %mean, %rstd = step.call @kernels::@layer_norm_3f9a(%x, %gamma, %beta)
        : (tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat =
    "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

#endif
