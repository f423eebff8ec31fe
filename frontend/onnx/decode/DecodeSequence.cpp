// Sequences of tensors, as the dynamo exporter writes torch.split without
// optimization. They exist while importing only.
#include "frontend/onnx/decode/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

LogicalResult splitToSequence(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), input.rank());
  if (failed(axis))
    return failure();
  int64_t total = input.shape()[*axis];
  Shape sizes(total, 1);
  if (context.has(1)) {
    FailureOr<Shape> given = context.constantInts(1, "its sizes");
    if (failed(given))
      return failure();
    sizes = *given;
    if (context.input(1).rank() ==
        0) { // pieces of one size, the last one smaller
      int64_t piece = sizes[0];
      if (piece <= 0)
        return context.error("has pieces of size " + Twine(piece));
      sizes.clear();
      for (int64_t start = 0; start < total; start += piece)
        sizes.push_back(std::min(piece, total - start));
    }
  }
  bool squeezed = !context.has(1) && context.intAttribute("keepdims", 1) == 0;
  std::vector<Operand> pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > total - start)
      return context.error("its pieces are larger than dim " + Twine(*axis) +
                           ", which is " + Twine(total));
    Operand piece = context.emit.sliceDim(input, *axis, start, size);
    if (squeezed) {
      Shape shape(piece.shape());
      shape.erase(shape.begin() + *axis);
      piece = context.emit.reshape(piece, shape);
    }
    pieces.push_back(piece);
    start += size;
  }
  if (start != total)
    return context.error("its pieces have " + Twine(start) +
                         " elements together, dim " + Twine(*axis) + " has " +
                         Twine(total));
  context.set(0, Operand::sequence(std::move(pieces)));
  return success();
}

LogicalResult sequenceConstruct(NodeContext &context) {
  context.set(0, Operand::sequence(std::vector<Operand>(context.allInputs())));
  return success();
}

/// The position that input `i` says among so many elements, `last` where it is
/// left out. A negative one counts from the back.
FailureOr<int64_t> positionOf(NodeContext &context, size_t i, int64_t count,
                              int64_t last) {
  if (!context.has(i))
    return last;
  FailureOr<double> given = context.constantFloat(i, "its position");
  if (failed(given))
    return failure();
  int64_t position = int64_t(*given) + (*given < 0 ? count : 0);
  if (position < 0 || position > last)
    return context.error("has no position " + Twine(int64_t(*given)) +
                         " in a sequence of " + Twine(count));
  return position;
}

LogicalResult sequenceAt(NodeContext &context) {
  if (!context.input(0).isSequence())
    return context.error("expects its input to be a sequence");
  ArrayRef<Operand> elements = context.input(0).sequenceElements();
  auto count = int64_t(elements.size());
  FailureOr<int64_t> position = positionOf(context, 1, count, count - 1);
  if (failed(position))
    return failure();
  context.set(0, elements[*position]);
  return success();
}

LogicalResult sequenceLength(NodeContext &context) {
  if (!context.input(0).isSequence())
    return context.error("expects its input to be a sequence");
  context.set(0,
              context.emit.integer(context.input(0).sequenceElements().size()));
  return success();
}

LogicalResult sequenceEmpty(NodeContext &context) {
  context.set(0, Operand::sequence({}));
  return success();
}

LogicalResult sequenceInsert(NodeContext &context) {
  if (!context.input(0).isSequence() || context.input(1).isSequence())
    return context.error("expects a sequence and a tensor");
  std::vector<Operand> elements = context.input(0).sequenceElements().vec();
  auto count = int64_t(elements.size());
  FailureOr<int64_t> position = positionOf(context, 2, count, count);
  if (failed(position))
    return failure();
  elements.insert(elements.begin() + *position, context.input(1));
  context.set(0, Operand::sequence(std::move(elements)));
  return success();
}

LogicalResult sequenceErase(NodeContext &context) {
  if (!context.input(0).isSequence() ||
      context.input(0).sequenceElements().empty())
    return context.error(
        "expects its input to be a sequence that is not empty");
  std::vector<Operand> elements = context.input(0).sequenceElements().vec();
  auto count = int64_t(elements.size());
  FailureOr<int64_t> position = positionOf(context, 1, count, count - 1);
  if (failed(position))
    return failure();
  elements.erase(elements.begin() + *position);
  context.set(0, Operand::sequence(std::move(elements)));
  return success();
}

LogicalResult concatFromSequence(NodeContext &context) {
  if (!context.input(0).isSequence() ||
      context.input(0).sequenceElements().empty())
    return context.error(
        "expects its input to be a sequence that is not empty");
  SmallVector<Operand> pieces(context.input(0).sequenceElements());
  bool newAxis = context.intAttribute("new_axis", 0) != 0;
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), pieces[0].rank() + newAxis);
  if (failed(axis))
    return failure();
  for (Operand &piece : pieces) {
    if (newAxis) {
      Shape shape(piece.shape());
      if (*axis > piece.rank())
        return context.error(
            "expects the sequence's elements to agree in rank");
      shape.insert(shape.begin() + *axis, 1);
      piece = context.emit.reshape(piece, shape);
    }
  }
  for (const Operand &piece : pieces)
    for (int64_t dim = 0; dim < pieces[0].rank(); ++dim)
      if (piece.rank() != pieces[0].rank() ||
          piece.elementType() != pieces[0].elementType() ||
          (dim != *axis && piece.shape()[dim] != pieces[0].shape()[dim]))
        return context.error("expects the sequence's elements to agree in "
                             "type, rank and the other dims");
  context.set(0, context.emit.concat(pieces, *axis));
  return success();
}

/// Whether an optional value is there: a tensor is, and one that is left out is
/// not. Inputs of the graph are no optionals, so that all others are known.
LogicalResult optionalHasElement(NodeContext &context) {
  Emitter &emit = context.emit;
  context.set(0, emit.splat({}, emit.attributes().getI1Type(), context.has(0)));
  return success();
}

LogicalResult optionalElement(NodeContext &context) {
  if (!context.has(0))
    return context.error("expects a value; none is there");
  context.set(0, context.input(0));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::sequenceDecoders() {
  static constexpr Decoder decoders[] = {
      {"ConcatFromSequence", 11, 1, 1, concatFromSequence},
      {"Optional", 15, 0, 1, optionalElement},
      {"OptionalGetElement", 15, 1, 1, optionalElement},
      {"OptionalHasElement", 15, 0, 1, optionalHasElement},
      {"SequenceAt", 11, 2, 2, sequenceAt},
      {"SequenceConstruct", 11, 1, -1, sequenceConstruct},
      {"SequenceEmpty", 11, 0, 0, sequenceEmpty},
      {"SequenceErase", 11, 1, 2, sequenceErase},
      {"SequenceInsert", 11, 2, 3, sequenceInsert},
      {"SequenceLength", 11, 1, 1, sequenceLength},
      {"SplitToSequence", 11, 1, 2, splitToSequence},
  };
  return decoders;
}
