// Sampling between elements: a gather for each element that a place takes, times
// its weight.
#include "frontend/onnx/decode/Sampling.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

Sampler::Sampler(Emitter &emit, const Operand &images, SampleMode mode,
                 SamplePadding padding, bool cornersAreCentres)
    : Arithmetic(emit), sizes(images.shape().drop_front().drop_back()),
      samples(images.shape().front()), channels(images.shape().back()),
      mode(mode), padding(padding), cornersAreCentres(cornersAreCentres) {
  table = emit.reshape(images, {samples * llvm::product_of(sizes), channels});
  image = emit.iota(samples, 0, 2);
}

void Sampler::takeFrom(const Operand &images) {
  samples = images.shape()[0];
  image = emit.reshape(emit.cast(images, emit.attributes().getI64Type()),
                       {samples, 1});
}

/// Places that go up and down between the borders, as often as they must.
Operand Sampler::reflected(const Operand &place, size_t dim) {
  double low = cornersAreCentres ? 0 : -0.5,
         range = cornersAreCentres ? sizes[dim] - 1 : sizes[dim];
  if (range == 0)
    return mul(place, number(0));
  Operand away = emit.unary<nn::AbsOp>(sub(place, number(low)));
  Operand turns = emit.unary<nn::FloorOp>(div(away, number(2 * range)));
  Operand rest = sub(away, mul(turns, number(2 * range)));
  Operand isBack = emit.compare(nn::CompareKind::gt, rest, number(range));
  rest = emit.select(isBack, sub(number(2 * range), rest), rest);
  return add(rest, number(low));
}

/// Places moved into the image, where the padding says so. Of cubic ones each
/// element that is taken is moved to the border, and not the place: as PyTorch
/// and ONNX Runtime have it, and ONNX's reference implementation does not.
Operand Sampler::folded(const Operand &place, size_t dim) {
  bool isMovedLater =
      padding == SamplePadding::border && mode == SampleMode::cubic;
  if (padding == SamplePadding::zeros || isMovedLater)
    return place;
  Operand last = number(double(sizes[dim] - 1)), first = number(0);
  Operand within =
      padding == SamplePadding::reflection ? reflected(place, dim) : place;
  if (padding == SamplePadding::reflection && mode != SampleMode::nearest)
    return within;
  // Selected, so that a place outside has no gradient.
  within = emit.select(emit.compare(nn::CompareKind::lt, within, first), first,
                       within);
  return emit.select(emit.compare(nn::CompareKind::gt, within, last), last,
                     within);
}

/// Keys' cubic convolution with a = -0.75 (IEEE TASSP 29, 1981), at a distance
/// of a whole number + `ratio` that is below 1, or below 2.
static Operand cubicWeight(Emitter &emit, const Operand &distance,
                           bool isNear) {
  constexpr double a = -0.75;
  const double near[] = {a + 2, -(a + 3), 0, 1},
               far[] = {a, -5 * a, 8 * a, -4 * a};
  Type type = distance.elementType();
  Operand sum = emit.scalar(type, isNear ? near[0] : far[0]);
  for (int i = 1; i < 4; ++i)
    sum = emit.binary<nn::AddOp>(emit.binary<nn::MulOp>(sum, distance),
                                 emit.scalar(type, isNear ? near[i] : far[i]));
  return sum;
}

std::vector<Sampler::Tap> Sampler::tapsOf(const Operand &given, size_t dim) {
  if (mode == SampleMode::nearest)
    return {{folded(emit.unary<nn::RoundOp>(given), dim), {}}};
  Operand place = folded(given, dim);
  Operand below = emit.unary<nn::FloorOp>(place), ratio = sub(place, below),
          one = number(1);
  if (mode == SampleMode::linear)
    return {{below, sub(one, ratio)}, {add(below, one), ratio}};
  Operand rest = sub(one, ratio);
  return {{sub(below, one), cubicWeight(emit, add(ratio, one), false)},
          {below, cubicWeight(emit, ratio, true)},
          {add(below, one), cubicWeight(emit, rest, true)},
          {add(below, number(2)), cubicWeight(emit, add(rest, one), false)}};
}

/// The elements at a combination of taps, times their weights.
Operand Sampler::read(ArrayRef<const Tap *> taps) {
  Type wide = emit.attributes().getI64Type();
  int64_t places = taps.front()->index.shape()[1];
  Operand position = image, isInside, weight;
  for (auto [dim, tap] : llvm::enumerate(taps)) {
    Operand first = number(0), last = number(double(sizes[dim] - 1));
    Operand index = tap->index;
    if (padding == SamplePadding::zeros) {
      Operand within = emit.binary<nn::AndOp>(
          emit.compare(nn::CompareKind::ge, index, first),
          emit.compare(nn::CompareKind::le, index, last));
      isInside = isInside ? emit.binary<nn::AndOp>(isInside, within) : within;
    } else if (padding == SamplePadding::reflection) {
      index = reflected(index, dim);
    }
    index = emit.binary<nn::MinOp>(emit.binary<nn::MaxOp>(index, first), last);
    position =
        add(mul(position, emit.integer(sizes[dim])), emit.cast(index, wide));
    if (tap->weight)
      weight = weight ? mul(weight, tap->weight) : tap->weight;
  }
  Operand elements = emit.emit<nn::GatherOp>(
      emit.typeOf({samples * places, channels}, table.elementType()),
      {table, emit.reshape(emit.broadcast(position, {samples, places}),
                           {samples * places})},
      {emit.named("axis", int64_t(0))});
  elements = emit.reshape(elements, {samples, places, channels});
  auto perPlace = [&](const Operand &value) {
    return emit.reshape(value, {samples, places, 1});
  };
  // An element outside is 0 whatever lies where it is read, an infinity too.
  if (isInside)
    elements = emit.select(perPlace(isInside), elements,
                           emit.scalar(table.elementType(), 0));
  return weight ? mul(elements, perPlace(weight)) : elements;
}

Operand Sampler::at(ArrayRef<Operand> places, Parts parts) {
  type = places.front().elementType();
  Type stored = table.elementType();
  if (mode != SampleMode::nearest)
    table = emit.cast(table, type);
  std::vector<std::vector<Tap>> perDim;
  int64_t combinations = 1;
  for (auto [dim, place] : llvm::enumerate(places)) {
    perDim.push_back(tapsOf(place, dim));
    combinations *= int64_t(perDim.back().size());
  }
  Operand sum;
  for (int64_t i = 0; i < combinations; ++i) {
    SmallVector<const Tap *> taps(perDim.size());
    int64_t rest = i;
    for (size_t dim = perDim.size(); dim-- > 0;) {
      taps[dim] = &perDim[dim][rest % perDim[dim].size()];
      rest /= int64_t(perDim[dim].size());
    }
    Operand term = read(taps);
    sum = !sum                    ? term
          : parts == Parts::added ? add(sum, term)
                                  : emit.binary<nn::MaxOp>(sum, term);
  }
  return emit.cast(sum, stored);
}
