// https://onnx.ai/onnx/operators/onnx__LSTM.html has the list.
#include "frontend/onnx/decode/GateFunction.h"

using namespace mlir;
using llvm::Twine;

namespace shardc::onnx {

/// Names that are known, with the numbers that they have by default.
static constexpr GateFunction known[] = {{"Affine", 1, 0},
                                         {"Elu", 1, 0},
                                         {"HardSigmoid", 0.2f, 0.5f},
                                         {"LeakyRelu", 0.01f, 0},
                                         {"Relu", 0, 0},
                                         {"ScaledTanh", 1, 1},
                                         {"Sigmoid", 0, 0},
                                         {"Softplus", 0, 0},
                                         {"Softsign", 0, 0},
                                         {"Tanh", 0, 0},
                                         {"ThresholdedRelu", 1, 0}};

bool GateFunction::hasAlpha() const {
  return hasBeta() || name == "Elu" || name == "LeakyRelu" ||
         name == "ThresholdedRelu";
}
bool GateFunction::hasBeta() const {
  return name == "Affine" || name == "HardSigmoid" || name == "ScaledTanh";
}

Operand GateFunction::operator()(Emitter &emit, const Operand &x) const {
  Type element = x.elementType();
  auto number = [&](double value) { return emit.scalar(element, value); };
  auto times = [&](const Operand &value, double factor) {
    return emit.binary<nn::MulOp>(value, number(factor));
  };
  Operand zero = number(0);
  auto isAbove = [&](double bound) {
    return emit.compare(nn::CompareKind::gt, x, number(bound));
  };
  if (name == "Sigmoid")
    return emit.unary<nn::SigmoidOp>(x);
  if (name == "Tanh")
    return emit.unary<nn::TanhOp>(x);
  if (name == "Relu")
    return emit.unary<nn::ReluOp>(x);
  if (name == "Softplus")
    return emit.unary<nn::SoftplusOp>(x);
  if (name == "Softsign")
    return emit.binary<nn::DivOp>(
        x, emit.binary<nn::AddOp>(emit.unary<nn::AbsOp>(x), number(1)));
  if (name == "Affine")
    return emit.binary<nn::AddOp>(times(x, alpha), number(beta));
  if (name == "ScaledTanh")
    return times(emit.unary<nn::TanhOp>(times(x, beta)), alpha);
  if (name == "LeakyRelu")
    return emit.select(isAbove(0), x, times(x, alpha));
  if (name == "ThresholdedRelu")
    return emit.select(isAbove(alpha), x, zero);
  if (name == "Elu") {
    Operand below = emit.select(isAbove(0), zero, x);
    Operand curve = times(
        emit.binary<nn::SubOp>(emit.unary<nn::ExpOp>(below), number(1)), alpha);
    return emit.select(isAbove(0), x, curve);
  }
  Operand line = emit.binary<nn::AddOp>(times(x, alpha), number(beta));
  Operand isLow = emit.compare(nn::CompareKind::le, line, zero),
          isHigh = emit.compare(nn::CompareKind::ge, line, number(1));
  return emit.select(isLow, zero, emit.select(isHigh, number(1), line));
}

FailureOr<SmallVector<GateFunction>>
gateFunctions(NodeContext &context, ArrayRef<StringRef> otherwise) {
  SmallVector<StringRef> names;
  if (const auto *given = context.attribute("activations"))
    for (const std::string &name : given->strings())
      names.push_back(name);
  if (names.empty())
    names.append(otherwise.begin(), otherwise.end());
  if (names.size() != otherwise.size())
    return context.error("expects " + Twine(otherwise.size()) +
                         " activations, got " + Twine(names.size()));
  auto numbers = [&](StringRef name) -> ArrayRef<float> {
    const auto *given = context.attribute(name);
    return given ? ArrayRef(given->floats().data(), given->floats_size())
                 : ArrayRef<float>();
  };
  // The numbers are those of the functions that have some, in order.
  ArrayRef<float> alphas = numbers("activation_alpha"),
                  betas = numbers("activation_beta");
  SmallVector<GateFunction> functions;
  for (StringRef name : names) {
    const auto *found = llvm::find_if(known, [&](const GateFunction &each) {
      return each.name.equals_insensitive(name);
    });
    if (found == std::end(known))
      return context.error("has the activation '" + name +
                           "', which is not supported");
    GateFunction function = *found;
    if (function.hasAlpha() && !alphas.empty()) {
      function.alpha = alphas.front();
      alphas = alphas.drop_front();
    }
    if (function.hasBeta() && !betas.empty()) {
      function.beta = betas.front();
      betas = betas.drop_front();
    }
    functions.push_back(function);
  }
  return functions;
}

} // namespace shardc::onnx
