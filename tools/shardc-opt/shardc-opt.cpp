// shardc-opt: shardc's passes from the command line, on MLIR text.
#include "codegen/Passes.h"
#include "codegen/Pipelines.h"
#include "frontend/onnx/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
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
  shardc::test::registerStepKernelsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "shardc's passes\n", registry));
}
