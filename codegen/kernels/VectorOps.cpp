// Vector forms of arith and math ops that are the same on every target.
#include "codegen/kernels/VectorOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::kernels {

bool isHalfFloat(Type element) { return element.isBF16() || element.isF16(); }

Type heldType(Type element) {
  return isHalfFloat(element) || element.isUnsignedInteger()
             ? Type(IntegerType::get(element.getContext(),
                                     element.getIntOrFloatBitWidth()))
             : element;
}

TypedAttr heldConstant(TypedAttr constant) {
  Type held = heldType(constant.getType());
  if (held == constant.getType())
    return constant;
  if (auto number = dyn_cast<IntegerAttr>(constant))
    return IntegerAttr::get(held, number.getValue());
  return IntegerAttr::get(
      held, cast<FloatAttr>(constant).getValue().bitcastToAPInt());
}

Type VectorOps::vectorType(Type element) const {
  element = heldType(element);
  return lanes() == 1 ? element : Type(VectorType::get({lanes()}, element));
}

Value VectorOps::broadcast(Location loc, Value value) {
  if (lanes() == 1 || isVector(value))
    return value;
  return vector::BroadcastOp::create(
      builder, loc, cast<VectorType>(vectorType(value.getType())), value);
}

Value VectorOps::laneNumbers(Location loc) {
  if (lanes() == 1)
    return constant(loc, 0);
  SmallVector<Attribute> numbers;
  for (int64_t lane = 0; lane < lanes(); ++lane)
    numbers.push_back(builder.getIntegerAttr(indexType(), lane));
  auto type = cast<VectorType>(vectorType(indexType()));
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, numbers));
}

Value VectorOps::constant(Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(indexType(), value));
}

Value VectorOps::multiplyAdd(Location loc, Value x, Value y, Value z) {
  if (isVector(x) || isVector(y) || isVector(z)) {
    x = broadcast(loc, x);
    y = broadcast(loc, y);
    z = broadcast(loc, z);
  }
  return math::FmaOp::create(builder, loc, x, y, z);
}

/// Whether an op only moves values, so that it takes 16-bit floats as they are
/// held.
static bool isMove(Operation *op) {
  return isa<arith::ConstantOp, arith::SelectOp>(op);
}

Value VectorOps::clone(Operation *op, ValueRange operands) {
  // Signed and unsigned bits are held alike.
  if (isa<UnrealizedConversionCastOp>(op) && op->getNumResults() == 1)
    return operands.front();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return {};
  Location loc = op->getLoc();
  auto isHalf = [](Type type) {
    return isHalfFloat(getElementTypeOrSelf(type));
  };
  if (isHalf(op->getResult(0).getType()) ||
      llvm::any_of(op->getOperandTypes(), isHalf)) {
    if (op->getNumOperands() == 1) {
      Type to = getElementTypeOrSelf(op->getResult(0).getType());
      Type from = getElementTypeOrSelf(op->getOperand(0).getType());
      if (isa<arith::ExtFOp>(op) && isHalfFloat(from))
        return widen(loc, operands.front(), from, to);
      if (isa<arith::TruncFOp>(op) && isHalfFloat(to))
        return round(loc, operands.front(), to);
      return {};
    }
    if (!isMove(op))
      return {};
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(builder, loc,
                                     heldConstant(constant.getValue()));
  bool wide =
      llvm::any_of(operands, [&](Value operand) { return isVector(operand); });
  SmallVector<Value> inputs(operands);
  if (wide)
    for (Value &input : inputs)
      input = broadcast(loc, input);
  if (Value special = cloneSpecial(op, inputs))
    return special;
  OperationState state(loc, op->getName());
  state.addOperands(inputs);
  Type element = heldType(getElementTypeOrSelf(op->getResult(0).getType()));
  state.addTypes(wide
                     ? cast<VectorType>(inputs.front().getType()).clone(element)
                     : element);
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  // Fast-math flags about NaN are kept; but no rounding may depend on what was
  // fused with what.
  Operation *created = builder.create(state);
  auto fast = dyn_cast<arith::ArithFastMathInterface>(created);
  if (auto flags = fast ? fast.getFastMathFlagsAttr() : nullptr) {
    using arith::FastMathFlags;
    auto kept = flags.getValue() & (FastMathFlags::nnan | FastMathFlags::ninf |
                                    FastMathFlags::nsz);
    created->setAttr("fastmath",
                     arith::FastMathFlagsAttr::get(builder.getContext(), kept));
  }
  return created->getResult(0);
}

} // namespace shardc::kernels
