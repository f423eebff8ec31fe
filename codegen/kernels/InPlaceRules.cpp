// The loop nest of each kernel is found once, and the answers are remembered.
#include "codegen/kernels/InPlaceRules.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace shardc::kernels {

bool InPlaceRules::allows(Operation *caller, SymbolRefAttr kernel,
                          unsigned input, unsigned output) {
  auto [entry, isNew] = kernels.try_emplace(kernel);
  Kernel &known = entry->second;
  if (isNew) {
    known.function =
        SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(caller, kernel);
    std::string why;
    if (known.function && !known.function.isExternal())
      known.nest = findLoopNest(known.function, why);
  }
  if (!known.nest)
    return false;
  auto [allowed, isFirst] = known.allowed.try_emplace({input, output});
  if (isFirst)
    allowed->second =
        mayLieInPlace(*known.nest, known.function.getArgument(input), output);
  return allowed->second;
}

} // namespace shardc::kernels
