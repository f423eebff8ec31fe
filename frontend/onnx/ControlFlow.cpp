// Loops are unrolled: what an iteration depends on has to be known.
#include "frontend/onnx/ControlFlow.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

FailureOr<std::pair<const ::onnx::GraphProto *, int>>
shardc::onnx::bodyOf(const NodeContext &context) {
  bool isIf = context.node.proto->op_type() == "If";
  int which = 1;
  if (isIf) {
    if (context.inputCount() != 1)
      return context.error("expects one input");
    FailureOr<double> condition = context.constantFloat(0, "its condition");
    if (failed(condition))
      return failure();
    which = *condition != 0;
  }
  const auto *body = context.attribute(!isIf   ? "body"
                                       : which ? "then_branch"
                                               : "else_branch");
  if (!body || !body->has_g())
    return context.error(isIf ? "expects branches" : "expects a body");
  if (isIf && body->g().output_size() != context.node.proto->output_size())
    return context.error("expects branches with as many outputs as the node");
  return std::pair{&body->g(), which};
}

FailureOr<std::optional<Iterations>>
Iterations::of(const NodeContext &context, const ::onnx::GraphProto &body) {
  StringRef op = context.node.proto->op_type();
  if (op != "Loop" && op != "Scan")
    return std::optional<Iterations>();
  Iterations all;
  if (failed(op == "Loop" ? all.beginLoop(context, body)
                          : all.beginScan(context, body)))
    return failure();
  if (all.count && *all.count > most)
    return context.error("has " + Twine(*all.count) + " iterations; at most " +
                         Twine(most) + " are imported, one by one");
  if (int(context.outputCount()) > int(all.carried.size() + all.stacked.size()))
    return context.error("has " + Twine(context.outputCount()) +
                         " outputs, its body gives " +
                         Twine(all.carried.size() + all.stacked.size()));
  return std::optional(std::move(all));
}

LogicalResult Iterations::beginLoop(const NodeContext &context,
                                    const ::onnx::GraphProto &body) {
  isLoop = true;
  if (context.has(0)) {
    FailureOr<double> given =
        context.constantFloat(0, "its number of iterations");
    if (failed(given))
      return failure();
    // The largest int64 is how exporters say that the condition alone decides.
    if (*given < 0x1p63)
      count = int64_t(*given);
  }
  if (context.has(1)) {
    FailureOr<double> condition = context.constantFloat(1, "its condition");
    if (failed(condition))
      return failure();
    goesOn = *condition != 0;
  }
  for (size_t i = 2; i < context.inputCount(); ++i) {
    if (!context.has(i))
      return context.error("its input " + Twine(i) + " is missing");
    carried.push_back(context.input(i));
  }
  int states = int(carried.size());
  if (body.input_size() != 2 + states || body.output_size() < 1 + states)
    return context.error("expects a body of " + Twine(2 + states) +
                         " inputs and at least " + Twine(1 + states) +
                         " outputs, got " + Twine(body.input_size()) + " and " +
                         Twine(body.output_size()));
  stacked.resize(body.output_size() - 1 - states);
  return success();
}

LogicalResult Iterations::beginScan(const NodeContext &context,
                                    const ::onnx::GraphProto &body) {
  int64_t scanned = context.intAttribute("num_scan_inputs", 0),
          states = int64_t(context.inputCount()) - scanned;
  if (scanned < 1 || states < 0)
    return context.error("expects num_scan_inputs to be 1 to " +
                         Twine(context.inputCount()) + ", got " +
                         Twine(scanned));
  for (size_t i = 0; i < context.inputCount(); ++i)
    if (!context.has(i) || context.input(i).isSequence())
      return context.error("its input " + Twine(i) + " is no tensor");
  if (body.input_size() != int(context.inputCount()) ||
      body.output_size() < states)
    return context.error("expects a body of " + Twine(context.inputCount()) +
                         " inputs and at least " + Twine(states) +
                         " outputs, got " + Twine(body.input_size()) + " and " +
                         Twine(body.output_size()));
  stacked.resize(body.output_size() - states);
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
  if (isLoop) {
    const Operand &condition = outputs.front();
    if (!condition.isConstant() || condition.host().elements() != 1)
      return context.error("whether it goes on behind iteration " +
                           Twine(iteration) + " depends on data of the run");
    goesOn = condition.host().intAt(int64_t(0)) != 0;
    outputs = outputs.drop_front();
    if (goesOn && !count && iteration >= most)
      return context.error("has more than " + Twine(most) +
                           " iterations, which are imported one by one");
  }
  ArrayRef<Operand> states = outputs.take_front(carried.size());
  carried.assign(states.begin(), states.end());
  for (auto [to, piece] :
       llvm::zip(stacked, outputs.drop_front(states.size()))) {
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

ArrayRef<Decoder> shardc::onnx::controlFlowDecoders() {
  static constexpr Decoder decoders[] = {
      {"If", 1, 1, 1, nullptr},
      {"Loop", 1, 2, -1, nullptr},
      {"Scan", 9, 1, -1, nullptr},
  };
  return decoders;
}
