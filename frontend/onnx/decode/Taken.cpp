// Runs of places become slices.
#include "frontend/onnx/decode/Taken.h"

using namespace mlir;

namespace shardc::onnx {

/// How often every place is repeated, where all are, as often and one after the
/// other; else 1.
static int64_t repetitionOf(ArrayRef<int64_t> places) {
  size_t times = 1;
  while (times < places.size() && places[times] == places[0])
    ++times;
  if (places.size() % times != 0)
    return 1;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != places[i / times * times])
      return 1;
  return int64_t(times);
}

/// Places `first`, `first + step`, ..., `count` of them.
struct Run {
  int64_t first, step, count;
};

static SmallVector<Run> runsOf(ArrayRef<int64_t> places) {
  SmallVector<Run> runs;
  for (int64_t place : places) {
    if (!runs.empty()) {
      Run &last = runs.back();
      if (last.count == 1)
        last.step = place - last.first;
      if (place == last.first + last.step * last.count) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({place, 0, 1});
  }
  return runs;
}

Operand take(Emitter &emit, const Operand &input, int64_t dim,
             ArrayRef<int64_t> places) {
  constexpr size_t mostRuns = 8;
  if (int64_t times = repetitionOf(places); times > 1) {
    Shape once;
    for (size_t i = 0; i < places.size(); i += size_t(times))
      once.push_back(places[i]);
    Operand taken = take(emit, input, dim, once);
    Shape apart(taken.shape()), repeated(taken.shape()), shape(taken.shape());
    apart.insert(apart.begin() + dim + 1, 1);
    repeated.insert(repeated.begin() + dim + 1, times);
    shape[dim] = int64_t(places.size());
    return emit.reshape(emit.broadcast(emit.reshape(taken, apart), repeated),
                        shape);
  }
  SmallVector<Run> runs = runsOf(places);
  if (runs.size() > mostRuns) {
    Shape shape(input.shape());
    shape[dim] = int64_t(places.size());
    return emit.emit<nn::GatherOp>(emit.typeOf(shape, input.elementType()),
                                   {input, emit.ints(places)},
                                   {emit.named("axis", dim)});
  }
  SmallVector<Operand> pieces;
  for (const Run &run : runs) {
    if (run.step == 0 && run.count > 1) {
      Shape shape(input.shape());
      shape[dim] = run.count;
      pieces.push_back(
          emit.broadcast(emit.sliceDim(input, dim, run.first, 1), shape));
      continue;
    }
    Shape starts(input.rank(), 0), sizes(input.shape()), steps(input.rank(), 1);
    starts[dim] = run.first;
    sizes[dim] = run.count;
    steps[dim] = run.count > 1 ? run.step : 1;
    pieces.push_back(emit.slice(input, starts, sizes, steps));
  }
  return emit.concat(pieces, dim);
}

Operand padWith(Emitter &emit, const Operand &value, const Operand &input,
                ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  Shape interior(input.rank(), 0);
  Operand padded = emit.pad(input, low, high, interior);
  if (padded.shape() == input.shape())
    return input;
  if (value.isConstant() &&
      (value.isFloat() ? value.host().floatAt(int64_t(0)) == 0
                       : value.host().intAt(int64_t(0)) == 0))
    return padded;
  // nn.pad writes zeros: another value goes where a padded mask is false.
  Operand isInside =
      emit.pad(emit.splat(input.shape(), emit.attributes().getI1Type(), 1), low,
               high, interior);
  return emit.select(isInside, padded, value);
}

} // namespace shardc::onnx
