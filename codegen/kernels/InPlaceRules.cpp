// Plans each kernel once, and remembers what was asked of it.
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
      known.plan = planKernel(known.function, why);
  }
  if (!known.plan)
    return false;
  auto [allowed, isFirst] = known.allowed.try_emplace({input, output});
  if (isFirst)
    allowed->second =
        mayLieInPlace(*known.plan, known.function.getArgument(input), output);
  return allowed->second;
}

} // namespace shardc::kernels
