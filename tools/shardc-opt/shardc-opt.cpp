// shardc-opt: shardc's passes from the command line, on MLIR text.
#include "codegen/Passes.h"
<<<<<<< HEAD
#include "codegen/Pipelines.h"
#include "codegen/step/Step.h"
#include "frontend/nn/NN.h"
#include "frontend/onnx/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/fsdp/FSDP.h"
=======
#include "frontend/onnx/Passes.h"
#include "passes/Passes.h"
>>>>>>> e660f64 (shardc-lsp-server: editors read the phases' IR; the tools register dialects in one place)
#include "test/lib/TestPasses.h"
#include "tools/dialects/Dialects.h"

#include "mlir/IR/Dialect.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  shardc::registerDialects(registry);
  mlir::registerAllPasses();
  shardc::registerShardcOnnxPasses();
  shardc::registerShardcPasses();
  shardc::registerShardcCodegenPasses();
  shardc::registerShardcPipelines();
  shardc::registerShardcCodegenPipelines();
  shardc::test::registerNNEvaluatePass();
  shardc::test::registerNNGradientsPass();
  shardc::test::registerNNKernelsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "shardc's passes\n", registry));
}
