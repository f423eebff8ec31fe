// Gives gradients their types at the producer.
#include "passes/analysis/GradientTypes.h"

#include "frontend/nn/support/Evaluation.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/ComputeTypes.h"

using namespace mlir;

namespace shardc {

static FloatType floatElement(Value value) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Moves whose gradient is a move: not those that add up (broadcast, gather).
static bool isPureMove(Operation *op) {
  return isMove(op) && isa<nn::KernelBody>(op) && !isa<nn::BroadcastOp>(op);
}

GradientTypes::GradientTypes(func::FuncOp function) {
  if (auto precision =
          function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
              "nn.precision"))
    if (auto type = precision.getAs<TypeAttr>("gradients"))
      parameterGradient = dyn_cast<FloatType>(type.getValue());
  function.walk([&](Operation *op) {
    const bool isParameter = isa<nn::GetParameterOp>(op) ||
                             ((isPureMove(op) || isa<nn::CastOp>(op)) &&
                              llvm::all_of(op->getOperands(), [&](Value x) {
                                return parameters.contains(x);
                              }));
    if (isParameter && floatElement(op->getResult(0)))
      parameters.insert(op->getResult(0));
  });
}

RankedTensorType GradientTypes::of(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return parameterGradient && parameters.contains(value)
             ? type.clone(parameterGradient)
             : type;
}

static void setElement(Value value, FloatType type) {
  value.setType(cast<RankedTensorType>(value.getType()).clone(type));
}

/// Whether the producer of a value that is read at most `uses` times can make
/// it in the type.
bool GradientTypes::canMake(Value value, FloatType type, unsigned uses) const {
  Operation *op = value.getDefiningOp();
  if (floatElement(value) == type)
    return true;
  if (!op || held.contains(value) || value.hasNUsesOrMore(uses + 1))
    return false;
  if (op->hasTrait<nn::MixedTypes>() || matchPattern(op, m_Constant()))
    return true;
  if (op->hasTrait<OpTrait::Elementwise>())
    return type.getWidth() > floatElement(value).getWidth();
  if (op->hasTrait<nn::WideResult>()) {
    auto fused = dyn_cast<nn::LinearCrossEntropyGradOp>(op);
    return type.isF32() && floatElement(op->getOperand(0)).getWidth() == 16 &&
           !(fused && value == fused.getInputGradient());
  }
  return isMove(op) && isa<nn::KernelBody>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value x) { return canMake(x, type, 1); });
}

/// Changes the producer of a value so that it makes the type.
static Value make(Value value, FloatType type) {
  Operation *op = value.getDefiningOp();
  if (floatElement(value) == type)
    return value;
  OpBuilder before(op);
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return nn::ConstantOp::create(
        before, value.getLoc(),
        nn::castTo(nn::HostTensor::fromAttribute(constant), type)
            .toAttribute());
  for (OpOperand &operand : op->getOpOperands()) {
    FloatType own = floatElement(operand.get());
    if (!own || own == type)
      continue;
    if (isMove(op))
      operand.set(make(operand.get(), type));
    else if (op->hasTrait<OpTrait::Elementwise>())
      operand.set(nn::CastOp::create(
          before, op->getLoc(),
          cast<RankedTensorType>(operand.get().getType()).clone(type),
          operand.get()));
  }
  setElement(value, type);
  return value;
}

Value GradientTypes::inType(Value gradient, RankedTensorType type,
                            OpBuilder &builder) const {
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (!element || floatElement(gradient) == element)
    return gradient;
  if (canMake(gradient, element, 0))
    return make(gradient, element);
  return nn::CastOp::create(builder, gradient.getLoc(), type, gradient);
}

} // namespace shardc
