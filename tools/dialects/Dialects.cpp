#include "tools/dialects/Dialects.h"

#include "codegen/lower/LibraryCalls.h"
#include "codegen/step/Step.h"
#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"

#include "mlir/InitAllDialects.h"

void shardc::registerDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  registry.insert<nn::NNDialect, fsdp::FSDPDialect, step::StepDialect>();
  registerLibraryCalls(registry);
}
