// Loops are unrolled: what an iteration depends on has to be known.
#include "frontend/onnx/decode/Iterations.h"

#include "frontend/onnx/decode/Decision.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

FailureOr<std::unique_ptr<ControlFlow>>
Iterations::of(const NodeContext &context) {
  const auto *body = context.attribute("body");
  if (!body || !body->has_g())
    return context.error("expects a body");
  auto all = std::make_unique<Iterations>();
  all->graph = &body->g();
  all->isLoop = context.node.proto->op_type() == "Loop";
  if (failed(all->isLoop ? all->beginLoop(context) : all->beginScan(context)))
    return failure();
  if (all->count && *all->count > most)
    return context.error("has " + Twine(*all->count) + " iterations; at most " +
                         Twine(most) + " are imported, one by one");
  size_t outputs = all->carried.size() + all->stacked.size();
  if (context.outputCount() > outputs)
    return context.error("has " + Twine(context.outputCount()) +
                         " outputs, its body gives " + Twine(outputs));
  return std::unique_ptr<ControlFlow>(std::move(all));
}

LogicalResult Iterations::beginLoop(const NodeContext &context) {
  if (context.has(0)) {
    FailureOr<double> given =
        context.constantFloat(0, "its number of iterations");
    if (failed(given))
      return failure();
    // The largest int64 is how exporters say that the condition alone decides.
    if (*given < 0x1p63)
      count = int64_t(*given);
  }
  if (context.has(1) && context.input(1).isConstant()) {
    FailureOr<double> condition = context.constantFloat(1, "its condition");
    if (failed(condition))
      return failure();
    goesOn = *condition != 0;
  } else if (context.has(1)) {
    FailureOr<Operand> condition = decisionOf(context, context.input(1));
    if (failed(condition))
      return failure();
    runs = *condition;
  }
  for (size_t i = 2; i < context.inputCount(); ++i) {
    if (!context.has(i))
      return context.error("its input " + Twine(i) + " is missing");
    carried.push_back(context.input(i));
  }
  int states = int(carried.size());
  if (graph->input_size() != 2 + states || graph->output_size() < 1 + states)
    return context.error("expects a body of " + Twine(2 + states) +
                         " inputs and at least " + Twine(1 + states) +
                         " outputs, got " + Twine(graph->input_size()) +
                         " and " + Twine(graph->output_size()));
  stacked.resize(graph->output_size() - 1 - states);
  return success();
}

LogicalResult Iterations::beginScan(const NodeContext &context) {
  int64_t scanned = context.intAttribute("num_scan_inputs", 0),
          states = int64_t(context.inputCount()) - scanned;
  if (scanned < 1 || states < 0)
    return context.error("expects num_scan_inputs to be 1 to " +
                         Twine(context.inputCount()) + ", got " +
                         Twine(scanned));
  for (size_t i = 0; i < context.inputCount(); ++i)
    if (!context.has(i) || context.input(i).isSequence())
      return context.error("its input " + Twine(i) + " is no tensor");
  if (graph->input_size() != int(context.inputCount()) ||
      graph->output_size() < states)
    return context.error("expects a body of " + Twine(context.inputCount()) +
                         " inputs and at least " + Twine(states) +
                         " outputs, got " + Twine(graph->input_size()) +
                         " and " + Twine(graph->output_size()));
  stacked.resize(graph->output_size() - states);
  Shape zeros(std::max<size_t>(scanned, stacked.size()), 0);
  auto numbers = [&](StringRef name, size_t size) {
    Shape given = context.intsAttribute(name).value_or(zeros);
    given.resize(size, 0);
    return given;
  };
  Shape axes = numbers("scan_input_axes", scanned),
        directions = numbers("scan_input_directions", scanned);
  for (int64_t i = 0; i < scanned; ++i) {
    const Operand &whole = context.input(states + i);
    FailureOr<int64_t> axis = context.axis(axes[i], whole.rank());
    if (failed(axis))
      return failure();
    int64_t size = whole.shape()[*axis];
    if (count && *count != size)
      return context.error("scans " + Twine(*count) +
                           " elements of one input, " + Twine(size) +
                           " of another");
    count = size;
    taken.push_back({whole, *axis, directions[i] != 0});
  }
  for (int64_t i = 0; i < states; ++i)
    carried.push_back(context.input(i));
  axes = numbers("scan_output_axes", stacked.size());
  directions = numbers("scan_output_directions", stacked.size());
  for (auto [to, axis, direction] : llvm::zip(stacked, axes, directions))
    to.axis = axis, to.isReverse = direction != 0;
  return success();
}

SmallVector<Operand> Iterations::inputs(Emitter &emit) const {
  SmallVector<Operand> inputs;
  if (isLoop) {
    inputs.push_back(emit.integer(iteration));
    inputs.push_back(emit.splat({}, emit.attributes().getI1Type(), 1));
  }
  llvm::append_range(inputs, carried);
  for (const Taken &from : taken) {
    int64_t at = from.isReverse ? *count - 1 - iteration : iteration;
    Operand piece = emit.sliceDim(from.whole, from.axis, at, 1);
    Shape shape(piece.shape());
    shape.erase(shape.begin() + from.axis);
    inputs.push_back(emit.reshape(piece, shape));
  }
  return inputs;
}

LogicalResult Iterations::end(const NodeContext &context,
                              ArrayRef<Operand> outputs) {
  ++iteration;
  Operand ran = runs;
  if (isLoop) {
    const Operand &condition = outputs.front();
    if (condition && condition.isConstant() &&
        condition.host().elements() == 1) {
      goesOn = condition.host().intAt(int64_t(0)) != 0;
    } else {
      FailureOr<Operand> decision = decisionOf(context, condition);
      if (failed(decision))
        return failure();
      runs = runs ? context.emit.binary<nn::AndOp>(runs, *decision) : *decision;
    }
    outputs = outputs.drop_front();
    if (runs && !count)
      return context.error(
          "whether it goes on behind iteration " + Twine(iteration) +
          " depends on data of the run; give it a number of iterations that is "
          "known, the most that there may be");
    if (goesOn && !count && iteration >= most)
      return context.error("has more than " + Twine(most) +
                           " iterations, which are imported one by one");
  }
  ArrayRef<Operand> states = outputs.take_front(carried.size());
  for (auto [state, next] : llvm::zip(carried, states)) {
    FailureOr<Operand> result =
        ran ? chosen(context, "what it carries", ran, next, state) : next;
    if (failed(result))
      return failure();
    state = *result;
  }
  if (ran && !stacked.empty())
    return context.error("stacks as many tensors as it has iterations, which "
                         "depends on data of the run");
  for (auto [to, piece] :
       llvm::zip(stacked, outputs.drop_front(carried.size()))) {
    if (piece.isSequence())
      return context.error("stacks sequences; only tensors are supported");
    const Operand &first = to.pieces.empty() ? piece : to.pieces.front();
    if (piece.type() != first.type())
      return context.error("stacks tensors of the shapes " +
                           shapeText(first.shape()) + " and " +
                           shapeText(piece.shape()));
    to.pieces.push_back(piece);
  }
  return success();
}

FailureOr<SmallVector<Operand>>
Iterations::results(const NodeContext &context) const {
  Emitter &emit = context.emit;
  SmallVector<Operand> results(carried);
  for (const Stacked &of : stacked) {
    size_t index = results.size();
    if (!context.wants(index)) {
      results.emplace_back();
      continue;
    }
    if (of.pieces.empty())
      return context.error("has no iterations, so that its output " +
                           Twine(index) + " has no shape");
    FailureOr<int64_t> axis =
        context.axis(of.axis, of.pieces.front().rank() + 1);
    if (failed(axis))
      return failure();
    SmallVector<Operand> rows;
    for (const Operand &piece : of.pieces) {
      Shape shape(piece.shape());
      shape.insert(shape.begin() + *axis, 1);
      rows.push_back(emit.reshape(piece, shape));
    }
    if (of.isReverse)
      std::reverse(rows.begin(), rows.end());
    results.push_back(emit.concat(rows, *axis));
  }
  return results;
}
