// A sum at positions, which is the gradient of reading there, and where anything
// was written. Other reductions look at every pair of a place and an update where
// there are few, and sort else.
#include "frontend/onnx/decode/ScatterUpdates.h"
#include "frontend/onnx/decode/Extremes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

Operand shardc::onnx::sumAt(Emitter &emit, const Operand &updates,
                            const Operand &positions, ArrayRef<int64_t> shape) {
  return emit.emit<nn::GatherGradOp>(emit.typeOf(shape, updates.elementType()),
                                     {updates, positions},
                                     {emit.named("axis", int64_t(0))});
}

namespace {

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

/// How many updates a place has, as floats of a type: [places, 1...].
Operand updatesAt(Emitter &emit, const Scatter &of, Type counted) {
  Operand ones = emit.splat(of.positions.shape(), counted, 1);
  Shape shape(of.data.rank(), 1);
  shape[0] = of.data.shape()[0];
  return emit.reshape(sumAt(emit, ones, of.positions, {shape[0]}), shape);
}

/// Whether anything is written to a place: [places, 1...].
Operand isWritten(Emitter &emit, const Scatter &of) {
  Type counted = emit.attributes().getF32Type();
  return emit.compare(nn::CompareKind::gt, updatesAt(emit, of, counted),
                      emit.scalar(counted, 0));
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
constexpr int64_t mostSorted = int64_t(1) << 20;

/// Updates of one place lie behind each other, in their order.
struct SortedUpdates {
  Operand places, updates;

  SortedUpdates(Emitter &emit, const Scatter &of) : emit(emit) {
    Operand numbers;
    std::tie(places, numbers) = topElements(
        emit, of.positions, 0, of.positions.shape()[0], /*smallest=*/true);
    updates = rowsAt(emit, of.updates, numbers);
  }

  int64_t count() const { return places.shape()[0]; }
  /// For each update from number `distance` on whether the one so far before it
  /// has `kind` place as well: [count - distance].
  Operand compared(nn::CompareKind kind, int64_t distance) const {
    return emit.compare(kind, emit.sliceDim(places, 0, 0, count() - distance),
                        emit.sliceDim(places, 0, distance, count() - distance));
  }
  /// Flags [n] beside the rows of n updates.
  Operand besideRows(const Operand &flags) const {
    Shape mask(updates.rank(), 1);
    mask[0] = flags.shape()[0];
    return emit.reshape(flags, mask);
  }
  /// `rows`, of which only those of the last update of each place stay.
  Scatter lastOf(const Operand &data, const Operand &rows) const {
    Operand isLast =
        emit.concat({compared(nn::CompareKind::ne, 1),
                     emit.splat({1}, emit.attributes().getI1Type(), 1)},
                    0);
    return {data,
            emit.select(besideRows(isLast), rows,
                        emit.scalar(rows.elementType(), 0)),
            places, true};
  }

private:
  Emitter &emit;
};

/// The same as reducedAt, in count * log(count): each update is combined with
/// those before it that have its place, 1, 2, 4 ... at a time, and the last of
/// each place has them all.
template <typename Combine>
Operand reducedInOrder(Emitter &emit, const Scatter &of,
                       const Operand &neutral) {
  SortedUpdates sorted(emit, of);
  int64_t count = sorted.count();
  Operand sofar = sorted.updates;
  for (int64_t distance = 1; distance < count; distance *= 2) {
    Operand before = emit.select(
        sorted.besideRows(sorted.compared(nn::CompareKind::eq, distance)),
        emit.sliceDim(sofar, 0, 0, count - distance), neutral);
    Operand combined = emit.binary<Combine>(
        emit.sliceDim(sofar, 0, distance, count - distance), before);
    sofar = emit.concat({emit.sliceDim(sofar, 0, 0, distance), combined}, 0);
  }
  Scatter last = sorted.lastOf(of.data, sofar);
  return emit.select(isWritten(emit, last),
                     emit.binary<Combine>(of.data, written(emit, last)),
                     of.data);
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
  if (element.isInteger(1))
    return context.error("reduces bools by '" + reduction + "'");
  Emitter::OneRounding one(emit);
  // A few pairs cost less than their order.
  constexpr int64_t mostPairs = int64_t(1) << 14;
  int64_t count = of.positions.shape()[0];
  if (of.data.type().getNumElements() * count > mostPairs) {
    if (count > mostSorted)
      return context.error("reduces " + Twine(count) + " updates by '" +
                           reduction + "'; supported are " + Twine(mostSorted));
    if (reduction == "min")
      return reducedInOrder<nn::MinOp>(emit, of, highestOf(emit, element));
    if (reduction == "max")
      return reducedInOrder<nn::MaxOp>(emit, of, lowestOf(emit, element));
    return one.result(
        reducedInOrder<nn::MulOp>(emit, of, emit.scalar(element, 1)));
  }
  if (reduction == "min")
    return reducedAt<nn::ReduceMinOp, nn::MinOp>(emit, of,
                                                 highestOf(emit, element));
  if (reduction == "max")
    return reducedAt<nn::ReduceMaxOp, nn::MaxOp>(emit, of,
                                                 lowestOf(emit, element));
  return one.result(reducedAt<nn::ReduceProdOp, nn::MulOp>(
      emit, of, emit.scalar(element, 1)));
}

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
  SortedUpdates sorted(emit, of);
  return sorted.lastOf(of.data, sorted.updates);
}

} // namespace

Operand shardc::onnx::overwritten(NodeContext &context, const Scatter &of) {
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

FailureOr<Operand> shardc::onnx::updated(NodeContext &context,
                                         const Scatter &of,
                                         StringRef reduction) {
  if (reduction == "none")
    return overwritten(context, of);
  if (reduction == "min" || reduction == "max" || reduction == "mul")
    return reducedAt(context, of, reduction);
  if (reduction != "add")
    return context.error("has the reduction '" + reduction +
                         "'; supported are none, add, mul, min and max");
  if (of.data.elementType().isInteger(1))
    return context.error("adds bools");
  Emitter &emit = context.emit;
  return emit.binary<nn::AddOp>(of.data, written(emit, of));
}

Operand shardc::onnx::averaged(Emitter &emit, const Scatter &of,
                               bool withData) {
  Type element = of.data.elementType();
  Operand count = updatesAt(emit, of, element), one = emit.scalar(element, 1);
  count = withData ? emit.binary<nn::AddOp>(count, one)
                   : emit.binary<nn::MaxOp>(count, one);
  return emit.binary<nn::DivOp>(
      emit.binary<nn::AddOp>(of.data, written(emit, of)), count);
}
