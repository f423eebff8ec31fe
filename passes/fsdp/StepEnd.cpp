// What the ops at the end of a step check: norm, sums of scalars, optimizer.
#include "passes/fsdp/FSDP.h"
#include "passes/fsdp/Verification.h"
#include "runtime/base/ExactSum.h"
#include "runtime/device/Optimizers.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::fsdp;

RankedTensorType fsdp::getExactSumType(MLIRContext *context) {
  return RankedTensorType::get({runtime::ExactSum::words},
                               IntegerType::get(context, 64));
}

Type fsdp::getSumType(Type element) {
  return element.getIntOrFloatBitWidth() == 16
             ? Float32Type::get(element.getContext())
             : element;
}

static bool isScalar(Type type, std::optional<unsigned> width = std::nullopt) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 0)
    return false;
  auto element = dyn_cast<FloatType>(tensor.getElementType());
  return element && (!width || element.getWidth() == *width);
}

/// Checks the types of an exact sum and of the number that it stands for.
static LogicalResult verifyExact(Operation *op, Type sum, Type value) {
  auto expected = getExactSumType(op->getContext());
  if (sum != expected)
    return op->emitOpError("expects the sum to be ")
           << expected << ", got " << sum;
  if (!isScalar(value, 64))
    return op->emitOpError("expects the value to be tensor<f64>, got ")
           << value;
  return success();
}

LogicalResult GradientNormOp::verify() {
  auto expected = getExactSumType(getContext());
  if (getPartial().getType() != expected)
    return emitOpError("expects the result to be ")
           << expected << ", got " << getPartial().getType();
  if (getPrevious() && getPrevious().getType() != expected)
    return emitOpError("expects what it adds to to be ")
           << expected << ", got " << getPrevious().getType();
  for (auto [index, type] : llvm::enumerate(getGradients().getTypes()))
    if (cast<RankedTensorType>(type).getRank() != 1)
      return emitOpError("expects operand ")
             << index << " to be one-dimensional, got " << type;
  return success();
}

LogicalResult ExactSumOp::verify() {
  return verifyExact(*this, getSum().getType(), getValue().getType());
}
LogicalResult RoundSumOp::verify() {
  return verifyExact(*this, getSum().getType(), getValue().getType());
}

LogicalResult
AllReduceStartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return success(
      static_cast<bool>(lookUp<GroupOp>(*this, getGroupAttr(), symbolTable)));
}

LogicalResult AllReduceStartOp::verify() {
  if (getNorms().size() != getValues().size())
    return emitOpError("expects to know of each of ")
           << getValues().size() << " values whether it is a norm, got "
           << getNorms().size();
  for (Type type : getValues().getTypes())
    if (cast<RankedTensorType>(type).getElementType() !=
        cast<RankedTensorType>(getValues().getTypes()[0]).getElementType())
      return emitOpError("expects values of one element type, got ")
             << getValues().getTypes()[0] << " and " << type;
  return success();
}

Communication AllReduceStartOp::getCommunication(SymbolTable &) {
  Communication result("all_reduce", getPhase(), "", getGroup(),
                       getValues().getTypes()[0]);
  result.bytes = 0;
  for (Type type : getValues().getTypes())
    result.bytes += nn::bytesOf(type);
  return result;
}

LogicalResult AllReduceWaitOp::verify() {
  if (failed(verifyToken<AllReduceStartOp>(*this)))
    return failure();
  auto start = getToken().getDefiningOp<AllReduceStartOp>();
  if (getResultTypes() != start.getValues().getTypes())
    return emitOpError(
        "expects one sum per value of its start, of the same types");
  return success();
}

LogicalResult MetricOp::verify() {
  if (!isScalar(getValue().getType()))
    return emitOpError("expects a float tensor of no dims, got ")
           << getValue().getType();
  return success();
}

LogicalResult OutputsOp::verify() {
  if (getNames().size() != getValues().size())
    return emitOpError("expects as many names as values, got ")
           << getNames().size() << " and " << getValues().size();
  return success();
}

LogicalResult OptimizerStepOp::verify() {
  if (getNorm() && !isScalar(getNorm().getType(), 64))
    return emitOpError("expects the norm to be tensor<f64>, got ")
           << getNorm().getType();
  if (getDirection() && !getNorm())
    return emitOpError("expects a norm beside its direction");
  if (!findOptimizer(getKind()))
    return emitOpError("expects kind ")
           << optimizerNames() << ", got " << getKind();
  return success();
}

LogicalResult
OptimizerStepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  UnitOp unit = lookUp<UnitOp>(*this, getUnitAttr(), symbolTable);
  if (!unit)
    return failure();
  if (!unit.isTrained())
    return emitOpError("updates ") << getUnitAttr() << ", which is frozen";
  if (getDirection() &&
      failed(verifyFlat(*this, getDirection().getType(), getDirectionType(unit),
                        "the direction")))
    return failure();
  return verifyFlat(
      *this, getGradient().getType(),
      unit.getFlatGradientType(static_cast<int64_t>(unit.getOptimizerShards())),
      "the gradient");
}
