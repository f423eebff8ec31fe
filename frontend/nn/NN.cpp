// The nn dialect's registration.
#include "frontend/nn/NN.h"

#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/KernelBuilder.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::nn;

#include "frontend/nn/NNDialect.cpp.inc"
#include "frontend/nn/NNEnums.cpp.inc"
#include "frontend/nn/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "frontend/nn/NNAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "frontend/nn/NNOps.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "frontend/nn/NNAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "frontend/nn/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location location) {
  if (auto elements = dyn_cast<ElementsAttr>(value);
      elements && elements.getType() == type)
    return ConstantOp::create(builder, location, elements);
  return nullptr;
}
