// Gives gradients their types at the producer.
#include "passes/GradientTypes.h"

#include "frontend/nn/support/Evaluation.h"
#include "mlir/IR/Matchers.h"
#include "passes/analyses/ComputeTypes.h"
#include "passes/analyses/FloatElements.h"

using namespace mlir;

namespace shardc {

/// Moves whose gradient is a move: not those that add up (broadcast, gather).
static bool isPureMove(Operation *op) {
  return isMove(op) && isa<nn::KernelBody>(op) && !isa<nn::BroadcastOp>(op);
}

GradientTypes::GradientTypes(func::FuncOp function) {
  if (auto precision =
          function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
              nn::precisionAttr))
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

/// Whether the producer of a value that is read at most `uses` times can make
/// it in the type.
bool GradientTypes::canMake(Value value, FloatType type, unsigned uses) const {
  // Moves are followed to what they move, however many there are in a row.
  SmallVector<std::pair<Value, unsigned>> left{{value, uses}};
  while (!left.empty()) {
    auto [made, most] = left.pop_back_val();
    Operation *op = made.getDefiningOp();
    if (floatElement(made) == type)
      continue;
    if (!op || held.contains(made) || made.hasNUsesOrMore(most + 1))
      return false;
    if (op->hasTrait<nn::MixedTypes>() || matchPattern(op, m_Constant()))
      continue;
    if (op->hasTrait<OpTrait::Elementwise>()) {
      if (type.getWidth() <= floatElement(made).getWidth())
        return false;
      continue;
    }
    if (op->hasTrait<nn::WideResult>()) {
      auto fused = dyn_cast<nn::LinearCrossEntropyGradOp>(op);
      if (!type.isF32() || floatElement(op->getOperand(0)).getWidth() != 16 ||
          (fused && made == fused.getInputGradient()))
        return false;
      continue;
    }
    if (!isMove(op) || !isa<nn::KernelBody>(op))
      return false;
    for (Value operand : op->getOperands())
      left.emplace_back(operand, 1);
  }
  return true;
}

/// A constant in another type; null where the value is none.
static Value madeConstant(Value value, FloatType type) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  OpBuilder before(value.getDefiningOp());
  return nn::ConstantOp::create(
      before, value.getLoc(),
      nn::castTo(nn::HostTensor::fromAttribute(constant), type).toAttribute());
}

/// Changes the producer of a value so that it makes the type, and what the
/// producer moves.
static Value make(Value value, FloatType type) {
  if (floatElement(value) == type)
    return value;
  if (Value constant = madeConstant(value, type))
    return constant;
  SmallVector<Value> left{value};
  while (!left.empty()) {
    Value made = left.pop_back_val();
    Operation *op = made.getDefiningOp();
    OpBuilder before(op);
    for (OpOperand &operand : op->getOpOperands()) {
      FloatType own = floatElement(operand.get());
      if (!own || own == type)
        continue;
      if (isMove(op)) {
        if (Value constant = madeConstant(operand.get(), type))
          operand.set(constant);
        else
          left.push_back(operand.get());
      } else if (op->hasTrait<OpTrait::Elementwise>()) {
        operand.set(nn::CastOp::create(
            before, op->getLoc(),
            cast<RankedTensorType>(operand.get().getType()).clone(type),
            operand.get()));
      }
    }
    setElement(made, type);
  }
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
