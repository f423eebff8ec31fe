// The optimizer steps of ai.onnx.preview.training, where a model has them in its
// graph: formulas like any other.
// https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Adam.html
#include "frontend/onnx/decode/Arithmetic.h"
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// One step: inputs are the rate, the number of steps before it, and then the
/// tensors X_1, X_2, ..., their gradients, and a list or two of states.
class OptimizerStep : public Arithmetic {
public:
  OptimizerStep(NodeContext &context, size_t states)
      : Arithmetic(context.emit), context(context), states(states) {}

  LogicalResult check();
  size_t tensors() const { return (context.inputCount() - 2) / (2 + states); }
  const Operand &tensor(size_t i) const { return listed(0, i); }
  const Operand &state(size_t which, size_t i) const {
    return listed(2 + which, i);
  }
  void setTensor(size_t i, const Operand &value) { set(0, i, value); }
  void setState(size_t which, size_t i, const Operand &value) {
    set(1 + which, i, value);
  }

  Operand number(double value) { return emit.scalar(type(), value); }
  Operand attribute(StringRef name, double otherwise) {
    return number(context.floatAttribute(name, otherwise));
  }
  Operand rate() { return single(0); }
  Operand steps() { return single(1); }
  /// `later`, but `first` in the first step.
  Operand unlessFirst(const Operand &later, const Operand &first) {
    Operand isLater = emit.compare(nn::CompareKind::gt, steps(), number(0));
    return emit.select(isLater, later, first);
  }
  Operand sqrt(const Operand &x) { return emit.unary<nn::SqrtOp>(x); }
  /// share x + (1 - share) y.
  Operand mix(double share, const Operand &x, const Operand &y) {
    return add(mul(number(share), x), mul(number(1 - share), y));
  }
  /// The gradient of tensor i, with that of norm_coefficient |X|^2 / 2.
  Operand gradient(size_t i) {
    return add(mul(attribute("norm_coefficient", 0), tensor(i)), listed(1, i));
  }

private:
  Operand single(size_t input) {
    return emit.reshape(emit.cast(context.input(input), type()), {});
  }
  Type type() const { return tensor(0).elementType(); }
  const Operand &listed(size_t list, size_t i) const {
    return context.input(2 + list * tensors() + i);
  }
  void set(size_t list, size_t i, const Operand &value) {
    if (context.wants(list * tensors() + i))
      context.set(list * tensors() + i, value);
  }

  NodeContext &context;
  size_t states;
};

LogicalResult OptimizerStep::check() {
  size_t lists = 2 + states, rest = context.inputCount() - 2;
  if (rest == 0 || rest % lists != 0)
    return context.error("expects a rate, a count and " + Twine(lists) +
                         " lists of tensors of equal length, got " +
                         Twine(rest) + " tensors");
  if (failed(context.sameElementType(2, context.inputCount() - 1)) ||
      failed(context.expectFloat(0)) || failed(context.expectFloat(2)))
    return failure();
  for (size_t i : {0, 1})
    if (context.input(i).type().getNumElements() != 1)
      return context.error("expects its rate and its count to be scalars");
  for (size_t i = 0; i < tensors(); ++i)
    for (size_t list = 1; list < lists; ++list)
      if (listed(list, i).shape() != tensor(i).shape())
        return context.error("expects its lists to have equal shapes, got " +
                             shapeText(tensor(i).shape()) + " and " +
                             shapeText(listed(list, i).shape()));
  return success();
}

LogicalResult adagrad(NodeContext &context) {
  OptimizerStep s(context, 1);
  if (failed(s.check()))
    return failure();
  Operand rate =
      s.div(s.rate(), s.add(s.number(1),
                            s.mul(s.steps(), s.attribute("decay_factor", 0))));
  for (size_t i = 0; i < s.tensors(); ++i) {
    Operand gradient = s.gradient(i);
    Operand squares = s.add(s.state(0, i), s.mul(gradient, gradient));
    Operand scale = s.add(s.sqrt(squares), s.attribute("epsilon", 1e-6f));
    s.setTensor(i, s.sub(s.tensor(i), s.div(s.mul(rate, gradient), scale)));
    s.setState(0, i, squares);
  }
  return success();
}

LogicalResult adam(NodeContext &context) {
  OptimizerStep s(context, 2);
  if (failed(s.check()))
    return failure();
  Emitter &emit = context.emit;
  double alpha = context.floatAttribute("alpha", 0.9f),
         beta = context.floatAttribute("beta", 0.999f);
  // In the first step nothing is divided by what is left of it, 0.
  Operand counted = s.unlessFirst(s.steps(), s.number(1));
  auto left = [&](double share) {
    return s.sub(s.number(1), emit.binary<nn::PowOp>(s.number(share), counted));
  };
  Operand rate = s.unlessFirst(
      s.div(s.mul(s.rate(), s.sqrt(left(beta))), left(alpha)), s.rate());
  Operand kept = s.sub(s.number(1), s.attribute("norm_coefficient_post", 0));
  for (size_t i = 0; i < s.tensors(); ++i) {
    Operand gradient = s.gradient(i);
    Operand mean = s.mix(alpha, s.state(0, i), gradient),
            squares = s.mix(beta, s.state(1, i), s.mul(gradient, gradient));
    Operand scale = s.add(s.sqrt(squares), s.attribute("epsilon", 1e-6f));
    Operand next = s.sub(s.tensor(i), s.div(s.mul(rate, mean), scale));
    s.setTensor(i, s.mul(kept, next));
    s.setState(0, i, mean);
    s.setState(1, i, squares);
  }
  return success();
}

LogicalResult momentum(NodeContext &context) {
  OptimizerStep s(context, 1);
  if (failed(s.check()))
    return failure();
  StringRef mode = context.stringAttribute("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return context.error("has the mode '" + mode +
                         "'; supported are standard and nesterov");
  Operand alpha = s.attribute("alpha", 0);
  Operand fresh = s.unlessFirst(s.attribute("beta", 0), s.number(1));
  for (size_t i = 0; i < s.tensors(); ++i) {
    Operand gradient = s.gradient(i);
    Operand velocity =
        s.add(s.mul(alpha, s.state(0, i)), s.mul(fresh, gradient));
    Operand direction =
        mode == "standard" ? velocity : s.add(gradient, s.mul(alpha, velocity));
    s.setTensor(i, s.sub(s.tensor(i), s.mul(s.rate(), direction)));
    s.setState(0, i, velocity);
  }
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::optimizerDecoders() {
  static constexpr Decoder decoders[] = {
      {"ai.onnx.preview.training.Adagrad", 1, 5, -1, adagrad},
      {"ai.onnx.preview.training.Adam", 1, 6, -1, adam},
      {"ai.onnx.preview.training.Momentum", 1, 5, -1, momentum},
  };
  return decoders;
}
