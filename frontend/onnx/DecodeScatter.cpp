// Ops that write at positions: a sum at positions, which is the gradient of
// reading there, and where anything was written.
#include "frontend/onnx/Decoder.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// data seen as [places, rest...], and what is written to places of it:
/// updates [count, rest...] at positions [count].
struct Scatter {
  Operand data, updates, positions;
};

/// Floats added at positions, from zeros.
Operand sumAt(Emitter &emit, const Operand &updates, const Operand &positions,
              ArrayRef<int64_t> shape) {
  return emit.emit<nn::GatherGradOp>(emit.typeOf(shape, updates.elementType()),
                                     {updates, positions},
                                     {emit.named("axis", int64_t(0))});
}

/// Of any type. Integers are summed as float64, which has 53 bits: those of 64
/// in two halves.
Operand written(Emitter &emit, const Scatter &of) {
  Type element = of.updates.elementType(),
       wide = emit.attributes().getF64Type();
  auto at = [&](const Operand &floats) {
    return sumAt(emit, floats, of.positions, of.data.shape());
  };
  if (of.updates.isFloat())
    return at(of.updates);
  if (!element.isInteger(64))
    return emit.cast(at(emit.cast(of.updates, wide)), element);
  Operand half = emit.integer(int64_t(1) << 32);
  Operand high = emit.binary<nn::DivOp>(of.updates, half);
  Operand low =
      emit.binary<nn::SubOp>(of.updates, emit.binary<nn::MulOp>(high, half));
  auto part = [&](const Operand &value) {
    return emit.cast(at(emit.cast(value, wide)), element);
  };
  return emit.binary<nn::AddOp>(emit.binary<nn::MulOp>(part(high), half),
                                part(low));
}

/// Whether anything is written to a place: [places, 1...].
Operand isWritten(Emitter &emit, const Scatter &of) {
  Type counted = emit.attributes().getF32Type();
  Operand ones = emit.splat(of.positions.shape(), counted, 1);
  int64_t places = of.data.shape()[0];
  Operand count = sumAt(emit, ones, of.positions, {places});
  Shape shape(of.data.rank(), 1);
  shape[0] = places;
  return emit.reshape(
      emit.compare(nn::CompareKind::gt, count, emit.scalar(counted, 0)), shape);
}

LogicalResult write(NodeContext &context, const Scatter &of) {
  Emitter &emit = context.emit;
  const Operand &data = context.input(0);
  StringRef reduction = context.stringAttribute("reduction", "none");
  if (reduction != "none" && reduction != "add")
    return context.error("has the reduction '" + reduction +
                         "'; supported are none and add");
  Operand sums = written(emit, of), result;
  if (reduction == "none") {
    result = emit.select(isWritten(emit, of), sums, of.data);
  } else if (data.elementType().isInteger(1)) {
    return context.error("adds bools");
  } else {
    result = emit.binary<nn::AddOp>(of.data, sums);
  }
  context.set(0, emit.reshape(result, data.shape()));
  return success();
}

/// Indices in [-size, size) counted from the front; constant ones are checked.
FailureOr<Operand> fromFront(NodeContext &context, const Operand &indices,
                             int64_t size) {
  Emitter &emit = context.emit;
  if (indices.isConstant())
    for (int64_t index : indices.host().toInts())
      if (index < -size || index >= size)
        return context.error("index " + Twine(index) +
                             " is out of range for a dim of size " +
                             Twine(size));
  Operand wide = emit.cast(indices, emit.attributes().getI64Type());
  Operand isNegative = emit.compare(nn::CompareKind::lt, wide, emit.integer(0));
  return emit.select(isNegative,
                     emit.binary<nn::AddOp>(wide, emit.integer(size)), wide);
}

/// data[indices[..., 0], indices[..., 1], ...] = updates.
LogicalResult scatterND(NodeContext &context) {
  const Operand &data = context.input(0), &indices = context.input(1),
                &updates = context.input(2);
  if (indices.isFloat() || indices.rank() == 0)
    return context.error(
        "expects its indices to be integers of rank 1 or more");
  int64_t tuple = indices.shape().back();
  if (tuple < 1 || tuple > data.rank())
    return context.error("its index tuples have " + Twine(tuple) +
                         " elements, data has rank " + Twine(data.rank()));
  ArrayRef<int64_t> indexed = data.shape().take_front(tuple),
                    rest = data.shape().drop_front(tuple),
                    tuples = indices.shape().drop_back();
  Shape expected(tuples);
  llvm::append_range(expected, rest);
  if (updates.shape() != ArrayRef<int64_t>(expected) ||
      updates.elementType() != data.elementType())
    return context.error("expects updates of data's type and of shape " +
                         shapeText(expected) + ", got " +
                         shapeText(updates.shape()));
  Emitter &emit = context.emit;
  Operand position;
  for (int64_t i = 0; i < tuple; ++i) {
    Operand index =
        emit.reshape(emit.sliceDim(indices, indices.rank() - 1, i, 1), tuples);
    FailureOr<Operand> place = fromFront(context, index, indexed[i]);
    if (failed(place))
      return failure();
    position =
        position
            ? emit.binary<nn::AddOp>(
                  emit.binary<nn::MulOp>(position, emit.integer(indexed[i])),
                  *place)
            : *place;
  }
  int64_t count = llvm::product_of(tuples);
  auto flat = [&](const Operand &value, int64_t first) {
    Shape shape = {first};
    llvm::append_range(shape, rest);
    return emit.reshape(value, shape);
  };
  return write(context,
               {flat(data, llvm::product_of(indexed)), flat(updates, count),
                emit.reshape(position, {count})});
}

/// data[i, indices[i, j, k], k] = updates[i, j, k] for axis 1.
LogicalResult scatterElements(NodeContext &context) {
  const Operand &data = context.input(0), &indices = context.input(1),
                &updates = context.input(2);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", 0), data.rank());
  if (failed(axis))
    return failure();
  if (indices.isFloat() || indices.rank() != data.rank())
    return context.error("expects integer indices of rank " +
                         Twine(data.rank()));
  if (updates.shape() != indices.shape() ||
      updates.elementType() != data.elementType())
    return context.error("expects updates of data's type and of shape " +
                         shapeText(indices.shape()) + ", got " +
                         shapeText(updates.shape()));
  Emitter &emit = context.emit;
  Operand position;
  int64_t step = 1;
  for (int64_t dim = data.rank(); dim-- > 0; step *= data.shape()[dim]) {
    if (dim != *axis && indices.shape()[dim] > data.shape()[dim])
      return context.error(
          "expects dim " + Twine(dim) + " of its indices to be at most " +
          Twine(data.shape()[dim]) + ", got " + Twine(indices.shape()[dim]));
    Operand place = emit.iota(indices.shape()[dim], dim, data.rank());
    if (dim == *axis) {
      FailureOr<Operand> given = fromFront(context, indices, data.shape()[dim]);
      if (failed(given))
        return failure();
      place = *given;
    }
    Operand term = emit.binary<nn::MulOp>(place, emit.integer(step));
    position = position ? emit.binary<nn::AddOp>(position, term) : term;
  }
  int64_t count = updates.type().getNumElements();
  position = emit.broadcast(position, indices.shape());
  return write(context, {emit.reshape(data, {data.type().getNumElements()}),
                         emit.reshape(updates, {count}),
                         emit.reshape(position, {count})});
}

} // namespace

ArrayRef<Decoder> shardc::onnx::scatterDecoders() {
  static constexpr Decoder decoders[] = {
      {"Scatter", 9, 3, 3, scatterElements},
      {"ScatterElements", 11, 3, 3, scatterElements},
      {"ScatterND", 11, 3, 3, scatterND},
  };
  return decoders;
}
