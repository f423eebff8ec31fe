// Pools: what the taps of a window become together. Channels are last
// meanwhile, as in convolutions.
#include "frontend/onnx/decode/Extremes.h"
#include "frontend/onnx/decode/Windows.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

FailureOr<Windows> poolOf(NodeContext &context) {
  if (failed(expectSpatial(context)))
    return failure();
  std::optional<Shape> kernel = context.intsAttribute("kernel_shape");
  if (!kernel)
    return context.error("has no attribute kernel_shape");
  const Operand &x = context.input(0);
  FailureOr<Windows> windows =
      windowsOf(context, x.shape().drop_front(2), *kernel);
  if (failed(windows))
    return failure();
  // A window that has nothing of the input has no largest element, and no mean.
  for (size_t dim = 0; dim < windows->dims(); ++dim)
    if (std::max(windows->low[dim], windows->high[dim]) >= windows->reach(dim))
      return context.error("has pads of " + Twine(windows->low[dim]) + " and " +
                           Twine(windows->high[dim]) + " in spatial dim " +
                           Twine(dim) + " around a kernel that reaches over " +
                           Twine(windows->reach(dim)));
  Shape shape = {x.shape()[0], x.shape()[1]};
  shape.append(windows->output);
  if (failed(context.checkShape(shape)))
    return failure();
  return windows;
}

/// The place of each spatial element among all of its channel, [1, S..., 1].
Operand placesOf(Emitter &emit, const Windows &windows, bool columnsFirst) {
  Shape shape = {1};
  shape.append(windows.input);
  shape.push_back(1);
  Operand places = emit.integer(0);
  int64_t step = 1;
  for (size_t i = 0; i < windows.dims(); ++i) {
    size_t dim = columnsFirst ? i : windows.dims() - 1 - i;
    Operand along =
        emit.iota(windows.input[dim], int64_t(dim) + 1, int64_t(shape.size()));
    places = emit.binary<nn::AddOp>(
        places, emit.binary<nn::MulOp>(along, emit.integer(step)));
    step *= windows.input[dim];
  }
  return emit.broadcast(places, shape);
}

/// For each tap the windows whose first element of the input it is, where that
/// is not the first tap; they broadcast to [1, output..., 1]. What lies before
/// is padding, which is no smaller than -inf.
SmallVector<std::optional<Operand>> firstInside(Emitter &emit,
                                                const Windows &windows) {
  SmallVector<std::optional<Operand>> found(windows.taps());
  if (llvm::all_of(windows.low, [](int64_t low) { return low == 0; }))
    return found;
  // A window's first element is the first of each dim.
  auto isFirst = [&](size_t dim, int64_t tap) -> std::optional<Operand> {
    std::vector<int64_t> values;
    for (int64_t window = 0; window < windows.output[dim]; ++window) {
      int64_t before = windows.low[dim] - window * windows.strides[dim];
      int64_t first = std::max<int64_t>(
          0, llvm::divideCeilSigned(before, windows.dilations[dim]));
      values.push_back(first == tap);
    }
    if (llvm::none_of(values, [](int64_t is) { return is; }))
      return std::nullopt;
    Shape shape(windows.dims() + 2, 1);
    shape[dim + 1] = windows.output[dim];
    return Operand(nn::HostTensor::ints(
        emit.typeOf(shape, emit.attributes().getI1Type()), std::move(values)));
  };
  for (int64_t i = 1; i < windows.taps(); ++i) {
    Shape tap = windows.tap(i);
    std::optional<Operand> all;
    for (size_t dim = 0; dim < windows.dims(); ++dim) {
      std::optional<Operand> mask = isFirst(dim, tap[dim]);
      if (!mask) {
        all = std::nullopt;
        break;
      }
      all = all ? emit.binary<nn::AndOp>(*all, *mask) : *mask;
    }
    found[i] = all;
  }
  return found;
}

/// The first of the largest, as in torch: its gradient goes there alone. NaN is
/// larger than all.
LogicalResult maxPool(NodeContext &context) {
  FailureOr<Windows> windows = poolOf(context);
  if (failed(windows))
    return failure();
  Emitter &emit = context.emit;
  const Operand &x = context.input(0);
  Type element = x.elementType();
  if (element.isInteger(1))
    return context.error("is not supported for the data type bool");
  Taps taps(context, *windows, channelsLast(emit, x), lowestOf(emit, element));
  std::optional<Taps> places;
  if (context.wants(1))
    places.emplace(
        context, *windows,
        placesOf(emit, *windows, context.intAttribute("storage_order", 0) != 0),
        emit.integer(0));
  Operand best = taps[0], place = places ? (*places)[0] : Operand();
  if (places)
    place = emit.broadcast(place, best.shape());
  auto starts = firstInside(emit, *windows);
  for (int64_t i = 1; i < windows->taps(); ++i) {
    Operand tap = taps[i];
    Operand isLarger = emit.compare(nn::CompareKind::gt, tap, best);
    if (tap.isFloat())
      isLarger = emit.binary<nn::OrOp>(
          isLarger, emit.compare(nn::CompareKind::ne, tap, tap));
    if (starts[i])
      isLarger = emit.binary<nn::OrOp>(isLarger, *starts[i]);
    best = emit.select(isLarger, tap, best);
    if (places)
      place = emit.select(isLarger, (*places)[i], place);
  }
  context.set(0, channelsFirst(emit, best));
  if (!places)
    return success();
  // Behind the elements of all channels before.
  int64_t n = x.shape()[0], c = x.shape()[1],
          size = x.type().getNumElements() / std::max<int64_t>(n * c, 1);
  Operand before = emit.binary<nn::AddOp>(
      emit.binary<nn::MulOp>(emit.iota(n, 0, x.rank()), emit.integer(c * size)),
      emit.binary<nn::MulOp>(emit.iota(c, x.rank() - 1, x.rank()),
                             emit.integer(size)));
  context.set(1, channelsFirst(emit, emit.binary<nn::AddOp>(place, before)));
  return success();
}

/// How many elements each window counts: those of the input, or of its pads
/// too; what a window has beyond these (ceil_mode) never counts.
Operand countsOf(Emitter &emit, const Windows &windows, Type element,
                 bool countsPads) {
  Shape shape = {1};
  shape.append(windows.output);
  shape.push_back(1);
  std::vector<double> counts = {1};
  for (size_t dim = 0; dim < windows.dims(); ++dim) {
    int64_t end = windows.input[dim] + (countsPads ? windows.high[dim] : 0);
    std::vector<double> longer;
    for (double before : counts)
      for (int64_t i = 0; i < windows.output[dim]; ++i) {
        int64_t count = 0;
        for (int64_t tap = 0; tap < windows.kernel[dim]; ++tap) {
          int64_t place = i * windows.strides[dim] - windows.low[dim] +
                          tap * windows.dilations[dim];
          count += (place >= 0 || countsPads) && place < end;
        }
        longer.push_back(before * double(count));
      }
    counts = std::move(longer);
  }
  if (llvm::all_equal(counts))
    return emit.scalar(element, counts[0]);
  return nn::HostTensor::floats(emit.typeOf(shape, element), std::move(counts));
}

Operand sumOfTaps(Emitter &emit, const Windows &windows, const Taps &taps) {
  Operand sum = taps[0];
  for (int64_t i = 1; i < windows.taps(); ++i)
    sum = emit.binary<nn::AddOp>(sum, taps[i]);
  return sum;
}

Shape spatialDims(const Operand &input) {
  return llvm::to_vector(llvm::seq<int64_t>(2, input.rank()));
}

/// What PyTorch divides the sum of each window by, where a model says so; none:
/// the count of its elements. Its exporter leaves that out of the node.
std::optional<int64_t> divisorOf(const NodeContext &context, size_t dims) {
  // avg_pool2d(self, kernel_size, stride, padding, ceil_mode,
  // count_include_pad, divisor_override).
  FxCall call = fxCall(*context.node.proto);
  int64_t divisor;
  if (!call.target.starts_with(
          ("torch.ops.aten.avg_pool" + Twine(dims) + "d").str()) ||
      call.argument(6, "divisor_override").getAsInteger(10, divisor))
    return std::nullopt;
  return divisor;
}

LogicalResult averagePool(NodeContext &context) {
  FailureOr<Windows> windows = poolOf(context);
  if (failed(windows) || failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  std::optional<int64_t> divisor = divisorOf(context, windows->dims());
  if (divisor == 0)
    return context.error("was made from a pool with the divisor_override 0");
  bool isWhole =
      windows->kernel == windows->input &&
      llvm::all_of(windows->output, [](int64_t n) { return n == 1; });
  if (!divisor && isWhole &&
      llvm::all_of(windows->low, [](int64_t n) { return n == 0; }) &&
      llvm::all_of(windows->high, [](int64_t n) { return n == 0; })) {
    context.set(0, emit.reduce<nn::ReduceMeanOp>(
                       context.input(0), spatialDims(context.input(0))));
    return success();
  }
  Type element = context.input(0).elementType();
  Emitter::OneRounding one(emit);
  Taps taps(context, *windows, channelsLast(emit, context.input(0)),
            emit.scalar(element, 0));
  Operand mean = emit.binary<nn::DivOp>(
      sumOfTaps(emit, *windows, taps),
      divisor ? emit.scalar(element, double(*divisor))
              : countsOf(emit, *windows, element,
                         context.intAttribute("count_include_pad", 0) != 0));
  context.set(0, one.result(channelsFirst(emit, mean)));
  return success();
}

/// |x|^p, in the type of the arithmetic: the root's exponent is rarely a number
/// of 16 bits.
Operand power(Emitter &emit, const Operand &given, int64_t p) {
  Operand x = emit.cast(given, emit.arithmeticType(given.elementType()));
  if (p == 2)
    return emit.binary<nn::MulOp>(x, x);
  Operand size = emit.unary<nn::AbsOp>(x);
  return p == 1 ? size
                : emit.binary<nn::PowOp>(
                      size, emit.scalar(x.elementType(), double(p)));
}

/// sum^(1/p), with the gradient 0 at 0, as torch has it.
Operand root(Emitter &emit, const Operand &sum, int64_t p) {
  if (p == 1)
    return sum;
  Type element = sum.elementType();
  Operand zero = emit.scalar(element, 0);
  Operand isZero = emit.compare(nn::CompareKind::eq, sum, zero);
  Operand positive = emit.select(isZero, emit.scalar(element, 1), sum);
  Operand result =
      p == 2 ? emit.unary<nn::SqrtOp>(positive)
             : emit.binary<nn::PowOp>(positive,
                                      emit.scalar(element, 1.0 / double(p)));
  return emit.select(isZero, zero, result);
}

FailureOr<int64_t> exponentOf(NodeContext &context) {
  int64_t p = context.intAttribute("p", 2);
  if (p < 1)
    return context.error("expects p to be 1 or more, got " + Twine(p));
  return p;
}

LogicalResult lpPool(NodeContext &context) {
  FailureOr<Windows> windows = poolOf(context);
  FailureOr<int64_t> p = exponentOf(context);
  if (failed(windows) || failed(p) || failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand powers = power(emit, channelsLast(emit, context.input(0)), *p);
  Taps taps(context, *windows, powers, emit.scalar(powers.elementType(), 0));
  Operand result = emit.cast(root(emit, sumOfTaps(emit, *windows, taps), *p),
                             context.input(0).elementType());
  context.set(0, one.result(channelsFirst(emit, result)));
  return success();
}

LogicalResult globalAveragePool(NodeContext &context) {
  if (failed(expectSpatial(context)) || failed(context.expectFloat(0)))
    return failure();
  context.set(0, context.emit.reduce<nn::ReduceMeanOp>(
                     context.input(0), spatialDims(context.input(0))));
  return success();
}

LogicalResult globalMaxPool(NodeContext &context) {
  if (failed(expectSpatial(context)) || failed(context.expectFloat(0)))
    return failure();
  context.set(0, context.emit.reduce<nn::ReduceMaxOp>(
                     context.input(0), spatialDims(context.input(0))));
  return success();
}

LogicalResult globalLpPool(NodeContext &context) {
  FailureOr<int64_t> p = exponentOf(context);
  if (failed(p) || failed(expectSpatial(context)) ||
      failed(context.expectFloat(0)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand sum = emit.reduce<nn::ReduceSumOp>(power(emit, context.input(0), *p),
                                             spatialDims(context.input(0)));
  context.set(0, one.result(emit.cast(root(emit, sum, *p),
                                      context.input(0).elementType())));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::poolingDecoders() {
  static constexpr Decoder decoders[] = {
      {"AveragePool", 7, 1, 1, averagePool},
      {"GlobalAveragePool", 1, 1, 1, globalAveragePool},
      {"GlobalLpPool", 2, 1, 1, globalLpPool},
      {"GlobalMaxPool", 1, 1, 1, globalMaxPool},
      {"LpPool", 2, 1, 1, lpPool},
      {"MaxPool", 8, 1, 1, maxPool},
  };
  return decoders;
}
