// shardc-opt: shardc's passes from the command line, on MLIR text.
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllPasses();
  registry.insert<shardc::nn::NNDialect, shardc::fsdp::FSDPDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "shardc's passes\n", registry));
}
