// Fourier transforms, and what is multiplied with signals and spectra: windows
// and the weights of mel bands.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/decode/Fourier.h"
#include "frontend/onnx/decode/Taken.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;

namespace {

/// A number of elements, which is at least one.
FailureOr<int64_t> constantSize(const NodeContext &context, size_t i,
                                StringRef what) {
  FailureOr<Shape> given = context.constantInts(i, what);
  if (failed(given))
    return failure();
  if (given->size() != 1 || given->front() < 1)
    return context.error("expects " + what + " to be a positive number, got " +
                         shapeText(*given));
  return given->front();
}

/// Checks that what is known when a model is compiled is not too much.
LogicalResult expectFew(const NodeContext &context, int64_t elements) {
  if (elements > Emitter::maxElements)
    return context.error("has more than " + Twine(Emitter::maxElements) +
                         " elements that are computed at compile time");
  return success();
}

/// Checks the length of a transform.
LogicalResult expectLength(const NodeContext &context, int64_t length) {
  if (length > longestFourier)
    return context.error("cannot transform " + Twine(length) +
                         " elements; supported are " + Twine(longestFourier));
  return success();
}

/// A transform over a dim of x [..., 1 or 2] in its arithmetic type.
struct Transform {
  int64_t length;
  bool isInverse, isOneSided;

  Operand of(Emitter &emit, const Operand &x, int64_t dim) const {
    int64_t last = x.rank() - 1, half = length / 2 + 1,
            given = isOneSided && isInverse ? half : length;
    // The dim goes to the end, where the parts go in front of it, and back. They
    // are cut and joined, not moved: who wrote them, or reads them, often has them
    // apart.
    Shape order, back(last);
    for (int64_t i = 0; i < last; ++i)
      if (i != dim)
        order.push_back(i);
    order.push_back(dim);
    for (auto [to, from] : llvm::enumerate(order))
      back[from] = int64_t(to);
    Operand signal = emit.sliceDim(x, dim, 0, std::min(given, x.shape()[dim]));
    std::vector<Operand> parts;
    for (int64_t part = 0; part < x.shape()[last]; ++part)
      parts.push_back(withUnitDim(
          emit, emit.transpose(withoutDim(emit, signal, last, part), order),
          last - 1));
    Operand planar = emit.concat(parts, last - 1);
    Operand result =
        isOneSided && isInverse
            ? ofHalfSpectrum(emit, planar, length)
            : FourierTransform{length, isInverse, isOneSided ? half : length}
                  .of(emit, planar);
    parts.clear();
    for (int64_t part = 0; part < result.shape()[last - 1]; ++part)
      parts.push_back(withUnitDim(
          emit, emit.transpose(withoutDim(emit, result, last - 1, part), back),
          last));
    return emit.concat(parts, last);
  }

private:
  /// One element of a dim, without that dim.
  static Operand withoutDim(Emitter &emit, const Operand &x, int64_t dim,
                            int64_t at) {
    Shape shape(x.shape());
    shape.erase(shape.begin() + dim);
    return emit.reshape(emit.sliceDim(x, dim, at, 1), shape);
  }
  static Operand withUnitDim(Emitter &emit, const Operand &x, int64_t dim) {
    Shape shape(x.shape());
    shape.insert(shape.begin() + dim, 1);
    return emit.reshape(x, shape);
  }
};

/// Checks that a signal's last dim has real numbers, or complex ones.
LogicalResult expectSignal(const NodeContext &context, int64_t leastRank) {
  const Operand &x = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  if (x.rank() < leastRank || (x.shape().back() != 1 && x.shape().back() != 2))
    return context.error("expects a signal of rank " + Twine(leastRank) +
                         " or more whose last dim is 1 (real) or 2 (complex), "
                         "got " +
                         shapeText(x.shape()));
  return success();
}

LogicalResult transform(NodeContext &context, int64_t axis) {
  Operand x = context.input(0);
  if (failed(expectSignal(context, 2)))
    return failure();
  FailureOr<int64_t> dim = context.axis(axis, x.rank());
  if (failed(dim))
    return failure();
  if (*dim == x.rank() - 1)
    return context.error("its axis is the last one, which has real and "
                         "imaginary parts");
  Transform transform{x.shape()[*dim], context.intAttribute("inverse", 0) != 0,
                      context.intAttribute("onesided", 0) != 0};
  bool isHalf = transform.isOneSided && transform.isInverse;
  if (transform.isOneSided && x.shape().back() != (isHalf ? 2 : 1))
    return context.error(
        isHalf ? "expects a complex spectrum, whose last dim is 2, for a "
                 "one-sided inverse, got " +
                     shapeText(x.shape())
               : "expects a real signal, whose last dim is 1, for a one-sided "
                 "spectrum, got " +
                     shapeText(x.shape()));
  if (isHalf)
    transform.length = 2 * (transform.length - 1);
  if (context.has(1)) {
    FailureOr<int64_t> given = constantSize(context, 1, "its dft_length");
    if (failed(given))
      return failure();
    transform.length = *given;
  }
  if (transform.length < 1)
    return context.error("has nothing to transform: " + shapeText(x.shape()));
  if (failed(expectLength(context, transform.length)))
    return failure();

  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand wide = emit.cast(x, emit.arithmeticType(x.elementType()));
  Operand result = transform.of(emit, wide, *dim);
  if (failed(context.checkShape(result.shape())))
    return failure();
  context.set(0, one.result(emit.cast(result, x.elementType())));
  return success();
}

LogicalResult dft17(NodeContext &context) {
  return transform(context, context.intAttribute("axis", 1));
}

LogicalResult dft20(NodeContext &context) {
  if (!context.has(2))
    return transform(context, -2);
  FailureOr<double> axis = context.constantFloat(2, "its axis");
  return failed(axis) ? failure() : transform(context, int64_t(*axis));
}

/// Frames of the signal, times the window, transformed: [batch, frames, bins,
/// 2].
LogicalResult stft(NodeContext &context) {
  Operand x = context.input(0);
  if (failed(expectSignal(context, 3)))
    return failure();
  if (x.rank() != 3)
    return context.error("expects a signal [batch, length, 1 or 2], got " +
                         shapeText(x.shape()));
  FailureOr<int64_t> step = constantSize(context, 1, "its frame_step");
  if (failed(step))
    return failure();
  bool hasWindow = context.has(2);
  if (hasWindow && (failed(context.expectFloat(2)) ||
                    context.input(2).elementType() != x.elementType() ||
                    context.input(2).rank() != 1))
    return context.error("expects its window to be [frame_length] of the "
                         "signal's type");
  if (!hasWindow && !context.has(3))
    return context.error("has neither a window nor a frame_length");
  int64_t length = hasWindow ? context.input(2).shape()[0] : 0;
  if (context.has(3)) {
    FailureOr<int64_t> given = constantSize(context, 3, "its frame_length");
    if (failed(given))
      return failure();
    if (hasWindow && *given != length)
      return context.error("has a window of " + Twine(length) +
                           " elements and a frame_length of " + Twine(*given));
    length = *given;
  }
  if (length < 1 || length > x.shape()[1])
    return context.error("has no frame of " + Twine(length) +
                         " in a signal of " + Twine(x.shape()[1]));
  bool isOneSided = context.intAttribute("onesided", 1) != 0;
  if (isOneSided && x.shape()[2] != 1)
    return context.error("expects a real signal, whose last dim is 1, for a "
                         "one-sided spectrum, got " +
                         shapeText(x.shape()));

  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Type arithmetic = emit.arithmeticType(x.elementType());
  int64_t frames = (x.shape()[1] - length) / *step + 1;
  if (failed(expectLength(context, length)) ||
      failed(expectFew(context, frames * length)) ||
      failed(context.checkShape({x.shape()[0], frames, length, 2})))
    return failure();
  Shape places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i)
      places.push_back(frame * *step + i);
  Operand framed = emit.reshape(take(emit, emit.cast(x, arithmetic), 1, places),
                                {x.shape()[0], frames, length, x.shape()[2]});
  if (hasWindow)
    framed = emit.binary<nn::MulOp>(
        framed,
        emit.reshape(emit.cast(context.input(2), arithmetic), {length, 1}));
  Operand result = Transform{length, false, isOneSided}.of(emit, framed, 2);
  context.set(0, one.result(emit.cast(result, x.elementType())));
  return success();
}

/// The type that output_datatype asks for.
FailureOr<Type> outputType(NodeContext &context) {
  auto dtype =
      int(context.intAttribute("output_datatype", ::onnx::TensorProto::FLOAT));
  Type element = elementType(context.emit.attributes().getContext(), dtype);
  if (!element)
    return context.error("does not support the output_datatype " +
                         Twine(dtype));
  return element;
}

/// Sets the result to numbers that are known.
LogicalResult setKnown(NodeContext &context, ArrayRef<int64_t> shape,
                       HostTensor::Floats values) {
  FailureOr<Type> element = outputType(context);
  if (failed(element))
    return failure();
  Emitter &emit = context.emit;
  Type wide = emit.attributes().getF64Type();
  context.set(0, emit.cast(Operand(HostTensor::floats(emit.typeOf(shape, wide),
                                                      std::move(values))),
                           *element));
  return success();
}

/// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), n the size, or one less if it
/// is not periodic.
LogicalResult window(NodeContext &context, double a0, double a1, double a2) {
  FailureOr<int64_t> size = constantSize(context, 0, "its size");
  if (failed(size) || failed(expectFew(context, *size)))
    return failure();
  double n = double(*size) - (context.intAttribute("periodic", 1) ? 0 : 1);
  HostTensor::Floats values;
  for (int64_t i = 0; i < *size; ++i) {
    double angle = 2 * std::numbers::pi * double(i) / n;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return setKnown(context, {*size}, std::move(values));
}
LogicalResult hannWindow(NodeContext &context) {
  return window(context, 0.5, 0.5, 0);
}
LogicalResult hammingWindow(NodeContext &context) {
  return window(context, 25.0 / 46, 21.0 / 46, 0);
}
LogicalResult blackmanWindow(NodeContext &context) {
  return window(context, 0.42, 0.5, 0.08);
}

/// Triangles over the bins of a spectrum, whose corners are equally far apart
/// in mel, 2595 log10(1 + hertz / 700); [dft_length / 2 + 1, num_mel_bins].
LogicalResult melWeightMatrix(NodeContext &context) {
  FailureOr<int64_t> bands = constantSize(context, 0, "its num_mel_bins"),
                     length = constantSize(context, 1, "its dft_length"),
                     rate = constantSize(context, 2, "its sample_rate");
  FailureOr<double> lowest = context.constantFloat(3, "its lower_edge_hertz"),
                    highest = context.constantFloat(4, "its upper_edge_hertz");
  if (failed(bands) || failed(length) || failed(rate) || failed(lowest) ||
      failed(highest))
    return failure();
  int64_t bins = *length / 2 + 1;
  if (failed(context.checkShape({bins, *bands})) ||
      failed(expectFew(context, bins * *bands)))
    return failure();
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double step = (mel(*highest) - mel(*lowest)) / double(*bands + 2);
  Shape corners;
  for (int64_t i = 0; i < *bands + 2; ++i) {
    double hertz =
        700 * (std::pow(10, (double(i) * step + mel(*lowest)) / 2595) - 1);
    double bin = std::floor(double(*length + 1) * hertz / double(*rate));
    if (!(bin >= 0 && bin < double(bins)))
      return context.error("has a band beyond the " + Twine(bins) +
                           " bins of its spectrum, from " +
                           std::to_string(*lowest) + " to " +
                           std::to_string(*highest) + " hertz");
    corners.push_back(int64_t(bin));
  }
  HostTensor::Floats values(bins * *bands);
  for (int64_t band = 0; band < *bands; ++band) {
    int64_t low = corners[band], middle = corners[band + 1],
            high = corners[band + 2];
    for (int64_t bin = low; bin <= middle; ++bin)
      values[bin * *bands + band] =
          low == middle ? 1 : double(bin - low) / double(middle - low);
    for (int64_t bin = middle; bin < high; ++bin)
      values[bin * *bands + band] = double(high - bin) / double(high - middle);
  }
  return setKnown(context, {bins, *bands}, std::move(values));
}

} // namespace

ArrayRef<Decoder> shardc::onnx::fourierDecoders() {
  static constexpr Decoder decoders[] = {
      {"BlackmanWindow", 17, 1, 1, blackmanWindow},
      {"DFT", 17, 1, 2, dft17},
      {"DFT", 20, 1, 3, dft20},
      {"HammingWindow", 17, 1, 1, hammingWindow},
      {"HannWindow", 17, 1, 1, hannWindow},
      {"MelWeightMatrix", 17, 5, 5, melWeightMatrix},
      {"STFT", 17, 2, 4, stft},
  };
  return decoders;
}
