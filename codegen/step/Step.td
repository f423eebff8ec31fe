// The step dialect: a training step as a linear list of work over planned buffers. Before memory is planned its ops are on
// tensors.
#ifndef SHARDC_CODEGEN_STEP_STEP_TD
#define SHARDC_CODEGEN_STEP_STEP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Step_Dialect : Dialect {
  let name = "step";
  let cppNamespace = "::shardc::step";
  let summary = "how each piece of a step runs: kernel launches, library calls, buffers";
}

class Step_Op<string mnemonic, list<Trait> traits = []> : Op<Step_Dialect, mnemonic, traits>;

def Step_LaunchOp : Step_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a generated kernel: a function of the module @kernels, on tensors";
  let description = [{
    The kernel is a `func.func` of linalg on tensors whose arguments are the inputs and whose results are the outputs. The
    compiled kernel takes the base pointers of the inputs, then those of the outputs, all row-major and contiguous.

    ```mlir
    %y, %mean, %rstd = step.launch @kernels::@layer_norm_3f9a(%x, %gamma, %beta)
        : (tensor<4x128x64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<4x128x64xf32>, tensor<4x128x1xf32>, tensor<4x128x1xf32>)
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

#endif
