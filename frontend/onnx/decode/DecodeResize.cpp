// Resize: along each dim, an element of the result is a sum of a few elements
// of the input. https://onnx.ai/onnx/operators/onnx__Resize.html
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/decode/Taken.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// That antialias makes one of; each is an op.
constexpr int64_t mostElements = 1024;

/// How one dim is resized.
struct Axis {
  int64_t dim, input, output;
  double scale;
  double begin = 0, end = 1; ///< of the region that tf_crop_and_resize takes
};

/// What one element of the result takes: elements first, first + 1, ... of the
/// input, of which those outside are the nearest inside.
struct WeightedElements {
  int64_t first;
  SmallVector<double, 4> weights;
  bool isOutside = false; ///< of the region: the result is extrapolated
};

class Resizing {
public:
  /// Before opset 11, and in Upsample, scales are the second input, and there is
  /// no choice of coordinates.
  explicit Resizing(NodeContext &context, bool isUpsample = false)
      : context(context), scalesInput(isUpsample ? 1 : 2),
        mode(context.stringAttribute("mode", "nearest")),
        coordinates(
            context.stringAttribute("coordinate_transformation_mode",
                                    isUpsample ? "asymmetric" : "half_pixel")),
        rounding(context.stringAttribute(
            "nearest_mode", isUpsample ? "floor" : "round_prefer_floor")),
        cubic(context.floatAttribute("cubic_coeff_a", -0.75)),
        isSmoothed(context.intAttribute("antialias", 0) != 0),
        excludes(context.intAttribute("exclude_outside", 0) != 0) {}

  LogicalResult check() const;
  /// The dims that are resized, in order.
  FailureOr<SmallVector<Axis>> axes() const;
  Operand resize(const Operand &input, const Axis &axis) const;
  /// Which elements along a dim are extrapolated; none where no one is.
  std::optional<Operand> outside(const Axis &axis, int64_t rank) const;

private:
  double place(const Axis &axis, int64_t i) const;
  WeightedElements source(const Axis &axis, int64_t i) const;
  SmallVector<double, 4> weights(double ratio, double scale,
                                 int64_t &begin) const;
  double cubicAt(double x) const;

  NodeContext &context;
  size_t scalesInput;
  StringRef mode, coordinates, rounding;
  double cubic;
  bool isSmoothed, excludes;
};

LogicalResult Resizing::check() const {
  auto oneOf = [&](StringRef what, StringRef value,
                   ArrayRef<StringRef> known) -> LogicalResult {
    if (llvm::is_contained(known, value))
      return success();
    return context.error("has the " + what + " '" + value +
                         "'; supported are " + llvm::join(known, ", "));
  };
  if (failed(oneOf("mode", mode, {"nearest", "linear", "cubic"})) ||
      failed(oneOf("coordinate_transformation_mode", coordinates,
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                    "align_corners", "asymmetric", "tf_crop_and_resize",
                    "tf_half_pixel_for_nn"})) ||
      failed(
          oneOf("nearest_mode", rounding,
                {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})))
    return failure();
  return mode == "nearest" ? success() : context.expectFloat(0);
}

/// The floats of a constant input; none where it is not given or empty.
FailureOr<SmallVector<double>> floatsOf(NodeContext &context, size_t i,
                                        StringRef what) {
  if (!context.has(i) || context.input(i).type().getNumElements() == 0)
    return SmallVector<double>();
  if (!context.input(i).isConstant() || !context.input(i).isFloat())
    return context.error("expects " + what +
                         " to be floats known at compile time");
  std::vector<double> values = context.input(i).host().toFloats();
  return SmallVector<double>(values.begin(), values.end());
}

FailureOr<SmallVector<Axis>> Resizing::axes() const {
  ArrayRef<int64_t> shape = context.input(0).shape();
  int64_t rank = int64_t(shape.size());
  Shape dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (auto given = context.intsAttribute("axes")) {
    FailureOr<Shape> counted = context.axes(*given, rank);
    if (failed(counted))
      return failure();
    dims = *counted;
  }
  FailureOr<SmallVector<double>> region =
      scalesInput > 1 ? floatsOf(context, 1, "its region")
                      : FailureOr<SmallVector<double>>(SmallVector<double>());
  FailureOr<SmallVector<double>> scales =
      floatsOf(context, scalesInput, "its scales");
  if (failed(region) || failed(scales))
    return failure();
  Shape sizes;
  if (context.has(3) && context.input(3).type().getNumElements() > 0) {
    FailureOr<Shape> given = context.constantInts(3, "its sizes");
    if (failed(given))
      return failure();
    sizes = *given;
  }
  if (scales->empty() == sizes.empty())
    return context.error("expects scales or sizes, and not both");
  size_t count = sizes.empty() ? scales->size() : sizes.size();
  if (count != dims.size())
    return context.error("has " + Twine(count) + " scales or sizes for " +
                         Twine(dims.size()) + " dims");
  bool crops = coordinates == "tf_crop_and_resize";
  if (crops && region->size() != 2 * dims.size())
    return context.error("expects a region of two numbers for each of " +
                         Twine(dims.size()) + " dims, got " +
                         Twine(region->size()));
  // One scale for all sizes, where the aspect is kept.
  StringRef policy =
      context.stringAttribute("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (auto [dim, size] : llvm::zip(dims, sizes)) {
    double scale = double(size) / double(shape[dim]);
    bool isFirst = common == 0;
    common = isFirst                  ? scale
             : policy == "not_larger" ? std::min(common, scale)
                                      : std::max(common, scale);
  }
  SmallVector<Axis> all;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Axis axis{dim, shape[dim], 0, 0};
    if (sizes.empty()) {
      axis.scale = (*scales)[i];
      axis.output = int64_t(std::floor(double(axis.input) * axis.scale));
    } else if (policy == "stretch") {
      axis.output = sizes[i];
      axis.scale = double(sizes[i]) / double(axis.input);
    } else {
      axis.scale = common;
      axis.output = int64_t(std::floor(double(axis.input) * common + 0.5));
    }
    if (!(axis.scale > 0) || axis.output < 1 ||
        axis.output > (int64_t(1) << 31))
      return context.error("resizes dim " + Twine(dim) + " of size " +
                           Twine(axis.input) + " to " + Twine(axis.output));
    if (isSmoothed && mode != "nearest" && 4 / axis.scale > mostElements)
      return context.error("smooths dim " + Twine(dim) + " of size " +
                           Twine(axis.input) + " to " + Twine(axis.output) +
                           ", by more than " + Twine(mostElements) +
                           " elements each");
    if (crops) {
      axis.begin = (*region)[i];
      axis.end = (*region)[i + dims.size()];
    }
    all.push_back(axis);
  }
  return all;
}

/// Where element i of the result lies in the input.
double Resizing::place(const Axis &axis, int64_t i) const {
  double x = double(i), size = axis.scale * double(axis.input),
         last = double(axis.input - 1);
  if (coordinates == "align_corners")
    return size == 1 ? 0 : x * last / (size - 1);
  if (coordinates == "asymmetric")
    return x / axis.scale;
  if (coordinates == "tf_crop_and_resize") {
    double taken = (axis.end - axis.begin) * last;
    return axis.begin * last + (size == 1 ? taken / 2 : x * taken / (size - 1));
  }
  if (coordinates == "tf_half_pixel_for_nn") // of opsets 11 and 12
    return (x + 0.5) / axis.scale;
  double halfPixel = (x + 0.5) / axis.scale - 0.5;
  if (coordinates == "pytorch_half_pixel")
    return size == 1 ? -0.5 : halfPixel;
  if (coordinates == "half_pixel_symmetric")
    return double(axis.input) / 2 * (1 - double(axis.output) / size) +
           halfPixel;
  return halfPixel;
}

/// Keys' kernel: Cubic convolution interpolation for digital image processing,
/// 1981.
double Resizing::cubicAt(double x) const {
  x = std::abs(x);
  if (x <= 1)
    return ((cubic + 2) * x - (cubic + 3)) * x * x + 1;
  return x < 2 ? ((cubic * x - 5 * cubic) * x + 8 * cubic) * x - 4 * cubic : 0;
}

/// Weights of the elements from `begin` on, counted from the one before a place
/// that lies `ratio`, above 0 and at most 1, behind it.
SmallVector<double, 4> Resizing::weights(double ratio, double scale,
                                         int64_t &begin) const {
  begin = 0;
  if (mode == "nearest") {
    bool isLower = rounding == "floor"                ? ratio < 1
                   : rounding == "round_prefer_floor" ? ratio <= 0.5
                   : rounding == "round_prefer_ceil"  ? ratio < 0.5
                                                      : false;
    return isLower ? SmallVector<double, 4>{1, 0}
                   : SmallVector<double, 4>{0, 1};
  }
  // What is made smaller is smoothed over as many elements as become one.
  double narrow = isSmoothed ? std::min(scale, 1.0) : 1;
  double radius = mode == "linear" ? 1 : 2;
  begin = int64_t(std::floor(-radius / narrow)) + 1;
  SmallVector<double, 4> all;
  double sum = 0;
  for (int64_t i = begin; i < 2 - begin; ++i) {
    double x = (double(i) - ratio) * narrow;
    all.push_back(mode == "linear" ? std::clamp(1 - std::abs(x), 0.0, 1.0)
                                   : cubicAt(x));
    sum += all.back();
  }
  for (double &weight : all)
    weight /= isSmoothed ? sum : 1;
  return all;
}

WeightedElements Resizing::source(const Axis &axis, int64_t i) const {
  double x = place(axis, i);
  WeightedElements found;
  found.isOutside = coordinates == "tf_crop_and_resize" &&
                    (x < 0 || x > double(axis.input - 1));
  auto before = int64_t(std::ceil(x)) - 1;
  int64_t begin;
  found.weights = weights(x - double(before), axis.scale, begin);
  found.first = before + begin;
  if (excludes) {
    double sum = 0;
    for (auto [k, weight] : llvm::enumerate(found.weights)) {
      int64_t at = found.first + int64_t(k);
      if (at < 0 || at >= axis.input)
        weight = 0;
      sum += weight;
    }
    for (double &weight : found.weights)
      weight /= sum;
  }
  return found;
}

Operand Resizing::resize(const Operand &input, const Axis &axis) const {
  Emitter &emit = context.emit;
  SmallVector<WeightedElements> sources;
  for (int64_t i = 0; i < axis.output; ++i)
    sources.push_back(source(axis, i));
  if (mode == "nearest") {
    Shape places;
    for (const WeightedElements &each : sources)
      places.push_back(std::clamp<int64_t>(
          each.first + (each.weights[0] == 1 ? 0 : 1), 0, axis.input - 1));
    return take(emit, input, axis.dim, places);
  }
  Shape shape(input.rank(), 1);
  shape[axis.dim] = axis.output;
  Operand sum;
  for (size_t k = 0; k < sources[0].weights.size(); ++k) {
    Shape places;
    std::vector<double> weights;
    for (const WeightedElements &each : sources) {
      places.push_back(
          std::clamp<int64_t>(each.first + int64_t(k), 0, axis.input - 1));
      weights.push_back(each.weights[k]);
    }
    if (llvm::all_of(weights, [](double weight) { return weight == 0; }))
      continue;
    Operand term = take(emit, input, axis.dim, places);
    term = emit.binary<nn::MulOp>(
        term, nn::HostTensor::floats(emit.typeOf(shape, input.elementType()),
                                     std::move(weights)));
    sum = sum ? emit.binary<nn::AddOp>(sum, term) : term;
  }
  return sum;
}

std::optional<Operand> Resizing::outside(const Axis &axis, int64_t rank) const {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < axis.output; ++i)
    values.push_back(source(axis, i).isOutside);
  if (llvm::none_of(values, [](int64_t is) { return is; }))
    return std::nullopt;
  Shape shape(rank, 1);
  shape[axis.dim] = axis.output;
  Emitter &emit = context.emit;
  return Operand(nn::HostTensor::ints(
      emit.typeOf(shape, emit.attributes().getI1Type()), std::move(values)));
}

template <bool isUpsample> LogicalResult resize(NodeContext &context) {
  Resizing resizing(context, isUpsample);
  if (failed(resizing.check()))
    return failure();
  FailureOr<SmallVector<Axis>> axes = resizing.axes();
  if (failed(axes))
    return failure();
  Shape shape(context.input(0).shape());
  for (const Axis &axis : *axes)
    shape[axis.dim] = axis.output;
  if (failed(context.checkShape(shape)))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand result = context.input(0);
  for (const Axis &axis : *axes)
    if (axis.scale != 1 || axis.output != axis.input || axis.begin != 0 ||
        axis.end != 1)
      result = resizing.resize(result, axis);
  Operand extrapolated = emit.scalar(
      result.elementType(), context.floatAttribute("extrapolation_value", 0));
  for (const Axis &axis : *axes)
    if (auto isOutside = resizing.outside(axis, result.rank()))
      result = emit.select(*isOutside, extrapolated, result);
  context.set(0, one.result(result));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::resizeDecoders() {
  static constexpr Decoder decoders[] = {
      {"Resize", 10, 2, 2, resize<true>},
      {"Resize", 11, 1, 4, resize<false>},
      {"Upsample", 9, 2, 2, resize<true>},
  };
  return decoders;
}
