// Ops that write at positions: a sum at positions, which is the gradient of
// reading there, and where anything was written. Other reductions look at every
// pair of a place and an update.
#include "frontend/onnx/Extremes.h"
#include "frontend/onnx/Windows.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// data seen as [places, rest...], and what is written to places of it:
/// updates [count, rest...] at positions [count], of which no two are equal where
/// they are known to be distinct.
struct Scatter {
  Operand data, updates, positions;
  bool areDistinct = false;
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
  Operand half =
      nn::HostTensor::splatInt(emit.typeOf({}, element), int64_t(1) << 32);
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

/// data combined with all that is written to its places: [places, count, rest]
/// reduced, where the updates of other places are `neutral`.
template <typename Reduce, typename Combine>
Operand reducedAt(Emitter &emit, const Scatter &of, const Operand &neutral) {
  int64_t places = of.data.shape()[0], count = of.positions.shape()[0];
  Shape pairs = {places, count};
  llvm::append_range(pairs, of.data.shape().drop_front());
  Shape mask(pairs.size(), 1), updates(pairs);
  mask[0] = places;
  mask[1] = count;
  updates[0] = 1;
  Operand isHere =
      emit.reshape(emit.compare(nn::CompareKind::eq, emit.iota(places, 0, 2),
                                emit.reshape(of.positions, {1, count})),
                   mask);
  Operand there =
      emit.select(isHere, emit.reshape(of.updates, updates), neutral);
  Operand reduced =
      emit.reshape(emit.reduce<Reduce>(there, {1}), of.data.shape());
  return emit.binary<Combine>(of.data, reduced);
}

FailureOr<Operand> reducedAt(NodeContext &context, const Scatter &of,
                             StringRef reduction) {
  Emitter &emit = context.emit;
  Type element = of.data.elementType();
  constexpr int64_t mostPairs = int64_t(1) << 30;
  if (int64_t pairs = of.data.type().getNumElements() * of.positions.shape()[0];
      pairs > mostPairs)
    return context.error("reduces by '" + reduction + "' over " + Twine(pairs) +
                         " pairs of a place and an update; supported are " +
                         Twine(mostPairs));
  if (element.isInteger(1))
    return context.error("reduces bools by '" + reduction + "'");
  Emitter::OneRounding one(emit);
  if (reduction == "min")
    return reducedAt<nn::ReduceMinOp, nn::MinOp>(emit, of,
                                                 highestOf(emit, element));
  if (reduction == "max")
    return reducedAt<nn::ReduceMaxOp, nn::MaxOp>(emit, of,
                                                 lowestOf(emit, element));
  return one.result(reducedAt<nn::ReduceProdOp, nn::MulOp>(
      emit, of, emit.scalar(element, 1)));
}

/// Rows of a tensor, by their numbers [count].
Operand rowsAt(Emitter &emit, const Operand &input, const Operand &numbers) {
  Shape shape(input.shape());
  shape[0] = numbers.shape()[0];
  return emit.emit<nn::GatherOp>(emit.typeOf(shape, input.elementType()),
                                 {input, numbers},
                                 {emit.named("axis", int64_t(0))});
}

/// The most updates that are sorted by their places.
constexpr int64_t mostSorted = int64_t(1) << 16;

/// ONNX leaves open what two updates of one place make of it. In PyTorch, numpy
/// and ONNX Runtime, as they run on processors, the last one stays, and the
/// exporters write what relies on it: zeros.scatter(1, ids, 1.0).
Scatter withoutOverwritten(NodeContext &context, const Scatter &of) {
  Emitter &emit = context.emit;
  int64_t count = of.positions.shape()[0];
  if (of.areDistinct || count < 2)
    return of;
  if (of.positions.isConstant()) {
    llvm::MapVector<int64_t, int64_t> last;
    for (auto [number, place] : llvm::enumerate(of.positions.host().toInts()))
      last[place] = int64_t(number);
    if (int64_t(last.size()) == count)
      return of;
    Shape places, numbers;
    for (auto [place, number] : last) {
      places.push_back(place);
      numbers.push_back(number);
    }
    return {of.data, rowsAt(emit, of.updates, emit.ints(numbers)),
            emit.ints(places), true};
  }
  if (count > mostSorted) {
    if (emit.isFirst("updates of one place"))
      context.warning("writes " + Twine(count) +
                      " updates to places that are not known at compile time: "
                      "where two have one place they are added up, only of " +
                      Twine(mostSorted) + " or fewer the last stays");
    return of;
  }
  // Sorted by their places, and of one place in their order.
  auto [places, numbers] = topElements(emit, of.positions, 0, count, true);
  Operand next = emit.sliceDim(places, 0, 1, count - 1);
  Operand isLast =
      emit.concat({emit.compare(nn::CompareKind::ne,
                                emit.sliceDim(places, 0, 0, count - 1), next),
                   emit.splat({1}, emit.attributes().getI1Type(), 1)},
                  0);
  Shape mask(of.updates.rank(), 1);
  mask[0] = count;
  Operand updates = rowsAt(emit, of.updates, numbers);
  return {of.data,
          emit.select(emit.reshape(isLast, mask), updates,
                      emit.scalar(updates.elementType(), 0)),
          places, true};
}

/// The data where nothing is written, else the last update.
Operand overwritten(NodeContext &context, const Scatter &of) {
  Emitter &emit = context.emit;
  // It does not matter which one stays.
  if (of.updates.isConstant() && of.updates.host().isSplat() &&
      of.updates.type().getNumElements() > 0) {
    Operand one =
        emit.slice(of.updates, Shape(of.updates.rank(), 0),
                   Shape(of.updates.rank(), 1), Shape(of.updates.rank(), 1));
    return emit.select(isWritten(emit, of), one, of.data);
  }
  Scatter last = withoutOverwritten(context, of);
  return emit.select(isWritten(emit, last), written(emit, last), last.data);
}

LogicalResult write(NodeContext &context, const Scatter &of) {
  Emitter &emit = context.emit;
  const Operand &data = context.input(0);
  StringRef reduction = context.stringAttribute("reduction", "none");
  if (reduction == "min" || reduction == "max" || reduction == "mul") {
    FailureOr<Operand> result = reducedAt(context, of, reduction);
    if (failed(result))
      return failure();
    context.set(0, emit.reshape(*result, data.shape()));
    return success();
  }
  if (reduction != "none" && reduction != "add")
    return context.error("has the reduction '" + reduction +
                         "'; supported are none, add, mul, min and max");
  Operand result;
  if (reduction == "none")
    result = overwritten(context, of);
  else if (data.elementType().isInteger(1))
    return context.error("adds bools");
  else
    result = emit.binary<nn::AddOp>(of.data, written(emit, of));
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

/// Whether they are places of the largest elements along the last dim, no two of
/// which are equal in a row.
bool areOfTopK(const Operand &indices) {
  Value value = indices.value();
  while (value) {
    if (auto topK = value.getDefiningOp<nn::TopKOp>())
      return value == topK.getIndices();
    auto cast = value.getDefiningOp<nn::CastOp>();
    value = cast ? cast.getInput() : Value();
  }
  return false;
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
  return write(context,
               {emit.reshape(data, {data.type().getNumElements()}),
                emit.reshape(updates, {count}), emit.reshape(position, {count}),
                *axis == data.rank() - 1 && areOfTopK(indices)});
}

/// A cache [B, ..., L, ...] whose elements from write_indices[b] on, along L,
/// are the update's. https://onnx.ai/onnx/operators/onnx__TensorScatter.html
LogicalResult tensorScatter(NodeContext &context) {
  const Operand &cache = context.input(0), &update = context.input(1);
  FailureOr<int64_t> axis =
      context.axis(context.intAttribute("axis", -2), cache.rank());
  if (failed(axis) || failed(context.sameElementType(0, 1)))
    return failure();
  StringRef mode = context.stringAttribute("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return context.error("has the mode '" + mode +
                         "'; supported are linear and circular");
  if (*axis == 0 || update.rank() != cache.rank())
    return context.error("expects an update of the cache's rank, and an axis "
                         "behind the batch");
  int64_t batch = cache.shape()[0], length = cache.shape()[*axis],
          steps = update.shape()[*axis];
  for (int64_t dim = 0; dim < cache.rank(); ++dim)
    if (dim == *axis ? steps > length
                     : update.shape()[dim] != cache.shape()[dim])
      return context.error("cannot write an update of shape " +
                           shapeText(update.shape()) + " into a cache of " +
                           shapeText(cache.shape()));
  Emitter &emit = context.emit;
  Type wide = emit.attributes().getI64Type();
  Operand first = emit.splat({batch}, wide, 0);
  if (context.has(2)) {
    if (context.input(2).isFloat() ||
        context.input(2).shape() != ArrayRef<int64_t>(batch))
      return context.error("expects integer write_indices of shape " +
                           shapeText({batch}) + ", got " +
                           shapeText(context.input(2).shape()));
    first = emit.cast(context.input(2), wide);
  }
  Operand place = emit.binary<nn::AddOp>(emit.reshape(first, {batch, 1}),
                                         emit.iota(steps, 1, 2));
  if (mode == "circular")
    place = emit.emit<nn::ModOp>(
        emit.typeOf({batch, steps}, wide),
        {place, emit.broadcast(emit.integer(length), {batch, steps})});
  Operand sample =
      emit.binary<nn::MulOp>(emit.iota(batch, 0, 2), emit.integer(length));
  Operand position =
      emit.reshape(emit.binary<nn::AddOp>(sample, place), {batch * steps});
  // The axis next to the batch, and the rest behind it.
  Shape permutation = {0, *axis};
  for (int64_t dim = 1; dim < cache.rank(); ++dim)
    if (dim != *axis)
      permutation.push_back(dim);
  auto rows = [&](const Operand &value) {
    Operand moved = emit.transpose(value, permutation);
    Shape shape = {moved.shape()[0] * moved.shape()[1]};
    llvm::append_range(shape, moved.shape().drop_front(2));
    return emit.reshape(moved, shape);
  };
  Scatter of{rows(cache), rows(update), position, true};
  Operand result = emit.select(isWritten(emit, of), written(emit, of), of.data);
  Shape moved, back(cache.rank());
  for (auto [position, dim] : llvm::enumerate(permutation)) {
    moved.push_back(cache.shape()[dim]);
    back[dim] = position;
  }
  context.set(0, emit.transpose(emit.reshape(result, moved), back));
  return success();
}

/// The elements of a pooled input back where MaxPool took them from, between
/// zeros: positions count through the whole of what was pooled.
LogicalResult maxUnpool(NodeContext &context) {
  const Operand &pooled = context.input(0), &indices = context.input(1);
  std::optional<Shape> kernel = context.intsAttribute("kernel_shape");
  if (failed(expectSpatial(context)) || failed(context.expectFloat(0)))
    return failure();
  int64_t dims = pooled.rank() - 2;
  if (!kernel || int64_t(kernel->size()) != dims ||
      indices.shape() != pooled.shape() || indices.isFloat())
    return context.error("expects a kernel_shape of " + Twine(dims) +
                         " numbers, and integers of its input's shape as "
                         "positions");
  FailureOr<Windows> windows =
      windowsOfGrowth(context, pooled.shape().drop_front(2), *kernel);
  if (failed(windows))
    return failure();
  Emitter &emit = context.emit;
  Shape shape(pooled.shape().take_front(2));
  for (int64_t dim = 0; dim < dims; ++dim)
    shape.push_back((windows->input[dim] - 1) * windows->strides[dim] +
                    (*kernel)[dim] - windows->low[dim] - windows->high[dim]);
  if (failed(context.checkShape(shape)))
    return failure();
  int64_t count = pooled.type().getNumElements(),
          places = llvm::product_of(shape);
  FailureOr<Operand> position =
      fromFront(context, emit.reshape(indices, {count}), places);
  if (failed(position))
    return failure();
  // Windows that overlap may have taken one element twice: it stays what it is.
  auto at = [&](const Operand &values) {
    return sumAt(emit, emit.reshape(values, {count}), *position, {places});
  };
  Operand one = emit.scalar(pooled.elementType(), 1);
  Operand times = at(emit.splat({count}, pooled.elementType(), 1));
  Operand result = emit.reshape(
      emit.binary<nn::DivOp>(
          at(pooled), emit.select(emit.compare(nn::CompareKind::gt, times, one),
                                  times, one)),
      shape);
  if (context.has(2)) {
    FailureOr<Shape> wanted = context.constantInts(2, "its output shape");
    if (failed(wanted))
      return failure();
    Shape high, none(shape.size(), 0);
    for (auto [dim, size] : llvm::enumerate(*wanted))
      if (dim < shape.size())
        high.push_back(size - shape[dim]);
    if (wanted->size() != shape.size() ||
        llvm::any_of(high, [](int64_t more) { return more < 0; }) ||
        failed(context.checkShape(*wanted)))
      return context.error("expects an output shape of at least " +
                           shapeText(shape) + ", got " + shapeText(*wanted));
    result = emit.pad(result, none, high, none);
  }
  context.set(0, result);
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::scatterDecoders() {
  static constexpr Decoder decoders[] = {
      {"MaxUnpool", 9, 2, 3, maxUnpool},
      {"Scatter", 9, 3, 3, scatterElements},
      {"ScatterElements", 11, 3, 3, scatterElements},
      {"ScatterND", 11, 3, 3, scatterND},
      {"TensorScatter", 24, 2, 3, tensorScatter},
  };
  return decoders;
}
