// Parameters and constants.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("expects a tensor of static shape, got ") << getType();
  if (getTransposed() && type.getRank() != 2)
    return emitOpError(
               "expects 2 dims where the file holds the transpose, got ")
           << type.getRank();
  const int64_t offset = getOffset(), length = getLength();
  if (offset < 0 || length < 0)
    return emitOpError("expects a byte range, got offset ")
           << offset << " and length " << length;
  if (getTrainable() && !isa<FloatType>(type.getElementType()))
    return emitOpError("expects float elements of a trainable parameter, got ")
           << type.getElementType();
  return success();
}

LogicalResult GetParameterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto parameter =
      symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter)
    return emitOpError("expects an nn.parameter named ") << getParameterAttr();
  if (parameter.getType() != getResult().getType())
    return emitOpError("expects the parameter's type ")
           << parameter.getType() << ", got " << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
