// All families of library calls are registered here.
#include "codegen/lower/LibraryCalls.h"

#include "codegen/lower/CallModel.h"

#include "mlir/IR/DialectRegistry.h"

namespace shardc {

void registerLibraryCalls(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, nn::NNDialect *) {
    attachMatMulCalls(context);
    attachAttentionCalls(context);
    attachLossCalls(context);
    attachIndexingCalls(context);
    attachShapeCalls(context);
  });
}

} // namespace shardc
