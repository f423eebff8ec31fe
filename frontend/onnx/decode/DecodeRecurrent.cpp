// RNN, GRU and LSTM, written out step by step. What does not depend on the state
// is one product for all steps.
// https://onnx.ai/onnx/operators/onnx__LSTM.html, onnx__GRU.html, onnx__RNN.html
#include "frontend/onnx/decode/Arithmetic.h"
#include "frontend/onnx/decode/GateFunction.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

constexpr int64_t mostSteps = 4096;

/// What one direction has: [G hidden, in], [G hidden, hidden], [G hidden] twice
/// or none, and its functions.
struct Weights {
  Operand input, state;
  std::optional<Operand> inputBias, stateBias, peepholes;
  SmallVector<GateFunction, 3> functions;
};

/// State between two steps, [batch, hidden] each; an LSTM has a cell.
struct State {
  Operand hidden, cell;
};

/// A kind of recurrent layer: how many gates, and a step.
class Recurrence : protected Arithmetic {
public:
  Recurrence(NodeContext &context, int64_t gates, int64_t functions,
             bool hasCell)
      : Arithmetic(context.emit), context(context), gates(gates),
        functionCount(functions), hasCell(hasCell) {}
  virtual ~Recurrence() = default;

  LogicalResult decode();

protected:
  /// The state after a step whose product by the input weights is `x`,
  /// [batch, G hidden].
  virtual State step(const Weights &of, const Operand &x,
                     const State &before) = 0;
  /// The biases that may be added to the product by the input for all steps at
  /// once.
  virtual bool addsStateBias() const { return true; }
  virtual StringRef defaultFunctions(size_t i) const = 0;

  Operand gate(const Operand &all, int64_t i) {
    return emit.sliceDim(all, 1, i * hidden, hidden);
  }
  /// f of a gate, which the attribute clip bounds.
  Operand apply(const GateFunction &function, Operand x);

  NodeContext &context;
  int64_t gates, functionCount;
  bool hasCell;
  int64_t steps = 0, batch = 0, hidden = 0, directions = 1;

private:
  LogicalResult check();
  LogicalResult readFunctions();
  Weights weightsOf(int64_t direction);
  Operand initial(size_t input, int64_t direction);
  /// Runs a direction: its states after each step, by step.
  void run(int64_t direction, bool isReversed, SmallVectorImpl<Operand> &all,
           State &last);

  Operand x; // [steps, batch, in]
  SmallVector<GateFunction> functions;
};

Operand Recurrence::apply(const GateFunction &function, Operand x) {
  if (double clip = context.floatAttribute("clip", 0); clip > 0) {
    Operand high = emit.scalar(x.elementType(), clip),
            low = emit.scalar(x.elementType(), -clip);
    x = emit.binary<nn::MinOp>(emit.binary<nn::MaxOp>(x, low), high);
  }
  return function(emit, x);
}

LogicalResult Recurrence::readFunctions() {
  SmallVector<StringRef> names;
  for (int64_t i = 0; i < directions * functionCount; ++i)
    names.push_back(defaultFunctions(size_t(i % functionCount)));
  FailureOr<SmallVector<GateFunction>> found = gateFunctions(context, names);
  if (failed(found))
    return failure();
  functions = *found;
  return success();
}

LogicalResult Recurrence::check() {
  const Operand &given = context.input(0);
  if (failed(context.expectFloat(0)) || given.rank() != 3)
    return context.error("expects an input of rank 3, got rank " +
                         Twine(given.rank()));
  StringRef direction = context.stringAttribute("direction", "forward");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return context.error("has the direction '" + direction +
                         "'; supported are forward, reverse and bidirectional");
  directions = direction == "bidirectional" ? 2 : 1;
  bool isBatchFirst = context.intAttribute("layout", 0) != 0;
  x = isBatchFirst ? emit.transpose(given, {1, 0, 2}) : given;
  steps = x.shape()[0];
  batch = x.shape()[1];
  if (steps > mostSteps)
    return context.error("has " + Twine(steps) + " steps, and at most " +
                         Twine(mostSteps) +
                         " are written out; check the --dim flags");
  const Operand &state = context.input(2);
  if (state.rank() != 3)
    return context.error("expects R to have rank 3, got " +
                         Twine(state.rank()));
  hidden = context.intAttribute("hidden_size", state.shape()[2]);
  auto expect = [&](size_t i, ArrayRef<int64_t> shape) -> LogicalResult {
    if (!context.has(i) || context.input(i).shape() == shape)
      return success();
    return context.error(
        "expects input " + Twine(i) + " to have the shape " + shapeText(shape) +
        ", got " + shapeText(context.input(i).shape()) +
        (i == 5 || i == 6 ? "; check the --dim flags; a projection "
                            "(proj_size) is not in the node"
                          : "; check the --dim flags"));
  };
  Shape initial = isBatchFirst ? Shape{batch, directions, hidden}
                               : Shape{directions, batch, hidden};
  if (failed(expect(1, {directions, gates * hidden, x.shape()[2]})) ||
      failed(expect(2, {directions, gates * hidden, hidden})) ||
      failed(expect(3, {directions, 2 * gates * hidden})) ||
      failed(expect(4, {batch})) || failed(expect(5, initial)) ||
      (hasCell && (failed(expect(6, initial)) ||
                   failed(expect(7, {directions, 3 * hidden})))))
    return failure();
  for (size_t i : {1, 2, 3, 5, 6, 7})
    if (context.has(i) && context.input(i).elementType() != x.elementType())
      return context.error("expects input " + Twine(i) + " to be of type " +
                           typeName(x.elementType()) + ", got " +
                           typeName(context.input(i).elementType()));
  return readFunctions();
}

Weights Recurrence::weightsOf(int64_t direction) {
  auto part = [&](size_t i) {
    const Operand &all = context.input(i);
    return emit.reshape(emit.sliceDim(all, 0, direction, 1),
                        all.shape().drop_front());
  };
  Weights of;
  of.input = part(1);
  of.state = part(2);
  if (context.has(3)) {
    Operand both = part(3);
    of.inputBias = emit.sliceDim(both, 0, 0, gates * hidden);
    of.stateBias = emit.sliceDim(both, 0, gates * hidden, gates * hidden);
  }
  if (hasCell && context.has(7))
    of.peepholes = part(7);
  for (int64_t i = 0; i < functionCount; ++i)
    of.functions.push_back(functions[direction * functionCount + i]);
  return of;
}

Operand Recurrence::initial(size_t input, int64_t direction) {
  if (!context.has(input))
    return emit.splat({batch, hidden}, x.elementType(), 0);
  int64_t dim = context.intAttribute("layout", 0) != 0 ? 1 : 0;
  return emit.reshape(emit.sliceDim(context.input(input), dim, direction, 1),
                      {batch, hidden});
}

void Recurrence::run(int64_t direction, bool isReversed,
                     SmallVectorImpl<Operand> &all, State &last) {
  Weights of = weightsOf(direction);
  Operand products = emit.linear(x, of.input, true);
  if (of.inputBias)
    products = add(products, *of.inputBias);
  if (of.stateBias && addsStateBias())
    products = add(products, *of.stateBias);
  State state = {initial(5, direction),
                 hasCell ? initial(6, direction) : Operand()};
  Operand zero = emit.scalar(x.elementType(), 0);
  all.resize(steps);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t t = isReversed ? steps - 1 - i : i;
    Operand now =
        emit.reshape(emit.sliceDim(products, 0, t, 1), {batch, gates * hidden});
    Emitter::OneRounding one(emit);
    State after = step(of, now, state);
    all[t] = after.hidden;
    if (context.has(4)) {
      // A sequence that is shorter keeps its state, and has no results there.
      Operand lengths =
          emit.cast(context.input(4), emit.attributes().getI64Type());
      Operand isThere = emit.reshape(
          emit.compare(nn::CompareKind::gt, lengths, emit.integer(t)),
          {batch, 1});
      all[t] = emit.select(isThere, after.hidden, zero);
      after.hidden = emit.select(isThere, after.hidden, state.hidden);
      if (hasCell)
        after.cell = emit.select(isThere, after.cell, state.cell);
    }
    state.hidden = one.result(after.hidden);
    if (hasCell)
      state.cell = one.result(after.cell);
    all[t] = context.has(4) ? one.result(all[t]) : state.hidden;
  }
  last = state;
}

LogicalResult Recurrence::decode() {
  if (failed(check()))
    return failure();
  bool isReverse = context.stringAttribute("direction", "") == "reverse";
  SmallVector<Operand> outputs, hiddens, cells;
  for (int64_t direction = 0; direction < directions; ++direction) {
    SmallVector<Operand> all;
    State last;
    run(direction, isReverse || direction == 1, all, last);
    for (Operand &each : all)
      each = emit.reshape(each, {1, 1, batch, hidden});
    outputs.push_back(emit.concat(all, 0)); // [steps, 1, batch, hidden]
    hiddens.push_back(emit.reshape(last.hidden, {1, batch, hidden}));
    if (hasCell)
      cells.push_back(emit.reshape(last.cell, {1, batch, hidden}));
  }
  bool isBatchFirst = context.intAttribute("layout", 0) != 0;
  auto arranged = [&](Operand value, ArrayRef<int64_t> permutation) {
    return isBatchFirst ? emit.transpose(value, permutation) : value;
  };
  context.set(0, arranged(emit.concat(outputs, 1), {2, 0, 1, 3}));
  context.set(1, arranged(emit.concat(hiddens, 0), {1, 0, 2}));
  if (hasCell)
    context.set(2, arranged(emit.concat(cells, 0), {1, 0, 2}));
  return success();
}

/// Gates z, r, h.
class Gru final : public Recurrence {
public:
  explicit Gru(NodeContext &context)
      : Recurrence(context, 3, 2, false),
        isLinearFirst(context.intAttribute("linear_before_reset", 0) != 0) {}

private:
  bool addsStateBias() const override { return false; }
  StringRef defaultFunctions(size_t i) const override {
    return i == 0 ? "Sigmoid" : "Tanh";
  }
  State step(const Weights &of, const Operand &x,
             const State &before) override {
    auto rows = [&](const Operand &w, int64_t first, int64_t count) {
      return emit.sliceDim(w, 0, first * hidden, count * hidden);
    };
    // The third gate's product is of the state, or of what r leaves of it.
    int64_t atOnce = isLinearFirst ? 3 : 2;
    Operand products =
        emit.linear(before.hidden, rows(of.state, 0, atOnce), true);
    if (of.stateBias)
      products = add(products, rows(*of.stateBias, 0, atOnce));
    Operand z = apply(of.functions[0], add(gate(x, 0), gate(products, 0)));
    Operand r = apply(of.functions[0], add(gate(x, 1), gate(products, 1)));
    Operand candidate;
    if (isLinearFirst) {
      candidate = mul(r, gate(products, 2));
    } else {
      candidate =
          emit.linear(mul(r, before.hidden), rows(of.state, 2, 1), true);
      if (of.stateBias)
        candidate = add(candidate, rows(*of.stateBias, 2, 1));
    }
    candidate = apply(of.functions[1], add(gate(x, 2), candidate));
    Operand one = emit.scalar(x.elementType(), 1);
    return {add(mul(emit.binary<nn::SubOp>(one, z), candidate),
                mul(z, before.hidden)),
            {}};
  }

  bool isLinearFirst;
};

/// Gates i, o, f, c.
class Lstm final : public Recurrence {
public:
  explicit Lstm(NodeContext &context) : Recurrence(context, 4, 3, true) {}

private:
  StringRef defaultFunctions(size_t i) const override {
    return i == 0 ? "Sigmoid" : "Tanh";
  }
  State step(const Weights &of, const Operand &x,
             const State &before) override {
    Operand all = add(x, emit.linear(before.hidden, of.state, true));
    auto peephole = [&](Operand value, int64_t i, const Operand &cell) {
      return of.peepholes
                 ? add(value,
                       mul(emit.sliceDim(*of.peepholes, 0, i * hidden, hidden),
                           cell))
                 : value;
    };
    const GateFunction &f = of.functions[0];
    Operand input = apply(f, peephole(gate(all, 0), 0, before.cell));
    Operand forget =
        context.intAttribute("input_forget", 0) != 0
            ? emit.binary<nn::SubOp>(emit.scalar(x.elementType(), 1), input)
            : apply(f, peephole(gate(all, 2), 2, before.cell));
    Operand candidate = apply(of.functions[1], gate(all, 3));
    Operand cell = add(mul(forget, before.cell), mul(input, candidate));
    Operand output = apply(f, peephole(gate(all, 1), 1, cell));
    return {mul(output, of.functions[2](emit, cell)), cell};
  }
};

class Rnn final : public Recurrence {
public:
  explicit Rnn(NodeContext &context) : Recurrence(context, 1, 1, false) {}

private:
  StringRef defaultFunctions(size_t) const override { return "Tanh"; }
  State step(const Weights &of, const Operand &x,
             const State &before) override {
    return {apply(of.functions[0],
                  add(x, emit.linear(before.hidden, of.state, true))),
            {}};
  }
};

template <typename Kind> LogicalResult recurrent(NodeContext &context) {
  return Kind(context).decode();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::recurrentDecoders() {
  static constexpr Decoder decoders[] = {
      {"GRU", 7, 3, 6, recurrent<Gru>},
      {"LSTM", 7, 3, 8, recurrent<Lstm>},
      {"RNN", 7, 3, 6, recurrent<Rnn>},
  };
  return decoders;
}
