// shardc-opt: shardc's passes from the command line, on MLIR text.
#include "codegen/Passes.h"
#include "codegen/Pipelines.h"
#include "codegen/step/Step.h"
#include "frontend/nn/NN.h"
#include "frontend/onnx/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "passes/fsdp/FSDP.h"
#include "test/lib/TestPasses.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllPasses();
  registry.insert<shardc::nn::NNDialect, shardc::fsdp::FSDPDialect,
                  shardc::step::StepDialect>();
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
