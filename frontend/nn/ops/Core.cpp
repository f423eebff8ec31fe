// Parameters and constants.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

LogicalResult
StridedAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    RankedTensorType type, DenseElementsAttr values,
                    int64_t start, ArrayRef<int64_t> strides) {
  if (values.getElementType() != type.getElementType())
    return emitError() << "expects elements of the type "
                       << type.getElementType() << ", got "
                       << values.getElementType();
  if (int64_t(strides.size()) != type.getRank())
    return emitError() << "expects " << type.getRank() << " strides, got "
                       << strides.size();
  int64_t lowest = start, highest = start;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    (stride < 0 ? lowest : highest) += (size - 1) * stride;
  if (type.getNumElements() > 0 &&
      (lowest < 0 || highest >= values.getNumElements()))
    return emitError() << "reaches elements " << lowest << " to " << highest
                       << " of " << values.getNumElements();
  return success();
}

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

LogicalResult StopGradientOp::verify() {
  if (!getWhere())
    return success();
  return expectShape(*this, "where", getWhere(), shapeOf(getInput()));
}

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
StopGradientOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                              ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGradients) {
  if (!getWhere()) {
    operandGradients.push_back(Value());
    return success();
  }
  // Selected rather than multiplied: a gradient there may not be finite.
  Formula f(builder, getLoc());
  Value zero = f.constant(resultGradients[0], 0);
  operandGradients.push_back(f.select(getWhere(), zero, resultGradients[0]));
  operandGradients.push_back(Value());
  return success();
}

LogicalResult
StraightThroughOp::differentiate(OpBuilder &, ValueRange resultGradients,
                                 ArrayRef<bool>,
                                 SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(Value());
  operandGradients.push_back(resultGradients[0]);
  return success();
}

//===----------------------------------------------------------------------===//
// Reference evaluation
//===----------------------------------------------------------------------===//

LogicalResult StopGradientOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult
StraightThroughOp::evaluate(ArrayRef<HostTensor> operands,
                            SmallVectorImpl<HostTensor> &results) {
  results.push_back(operands[0]);
  return success();
}
