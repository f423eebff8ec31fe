// The step dialect's registration and verifiers.
#include "codegen/step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::step;

#include "codegen/step/StepDialect.cpp.inc"
#include "codegen/step/StepEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "codegen/step/StepAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/step/StepTypes.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/step/StepOps.cpp.inc"

void StepDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/step/StepOps.cpp.inc"
      >();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "calls kernel " << getKernelAttr()
                         << ", which does not exist";
  auto expected = FunctionType::get(getContext(), getInputs().getTypes(),
                                    getOutputs().getTypes());
  if (kernel.getFunctionType() != expected)
    return emitOpError() << "expects kernel " << getKernelAttr() << " of type "
                         << expected << ", got " << kernel.getFunctionType();
  return success();
}
