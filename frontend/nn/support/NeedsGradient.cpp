// Backwards from a value, over floats.
#include "frontend/nn/support/NeedsGradient.h"

#include "frontend/nn/support/Verification.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::nn;

bool nn::needsGradient(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!isa<FloatType>(elementTypeOf(next)) || !seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    auto stop = dyn_cast_or_null<nn::StopGradientOp>(op);
    if (!op || (stop && !stop.getWhere()))
      continue;
    if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
      auto parameter = SymbolTable::lookupNearestSymbolFrom<nn::ParameterOp>(
          op, get.getParameterAttr());
      if (!parameter || parameter.getTrainable())
        return true;
    }
    llvm::append_range(open, op->getOperands());
  }
  return false;
}
