// Every pass that decides how a training step runs. One entry here, one .cpp, one lit test, all of one name.
// Descriptions have four parts: Needs, Before, After, Why here.
#ifndef SHARDC_CODEGEN_PASSES_TD
#define SHARDC_CODEGEN_PASSES_TD
include "mlir/Pass/PassBase.td"

def StepOutlineKernels : Pass<"step-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "fuses generated ops into kernels, one function per distinct body";
  let description = [{
    Needs: straight-line functions @train and @eval (any `func.func` of the module) of nn and fsdp ops.

    Before:
    ```mlir
    %0 = nn.add %x, %r : tensor<4x128x64xf32>
    %y, %mean, %rstd = nn.layer_norm %0, %gamma, %beta {epsilon = 1.0e-5 : f64} : ...
    ```

    After:
    ```mlir
    %0, %y, %mean, %rstd = step.launch @kernels::@add_layer_norm_3f9a(%x, %r, %gamma, %beta) : ...
    module @kernels { func.func @add_layer_norm_3f9a(...) { linalg on tensors } }
    ```

    Why here: after sharding, so that waits and releases of parameters bound what may be moved; before memory is planned,
    so that values inside a kernel never get a buffer.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect", "::shardc::step::StepDialect"];
}

#endif
