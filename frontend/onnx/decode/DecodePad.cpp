// Ops that put elements around a tensor, or cut some off.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/decode/Taken.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// Which of `size` elements stands in place i, which may be none of theirs.
int64_t paddedPlace(StringRef mode, int64_t i, int64_t size) {
  auto modulo = [](int64_t value, int64_t of) {
    return (value % of + of) % of;
  };
  if (mode == "edge")
    return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == "wrap")
    return modulo(i, size);
  // 2 1 0 1 2 1 0 1 ...: there and back, without the ends twice.
  int64_t period = std::max<int64_t>(2 * (size - 1), 1), at = modulo(i, period);
  return std::min(at, period - at) % size;
}

LogicalResult pad(NodeContext &context) {
  Operand input = context.input(0);
  StringRef mode = context.stringAttribute("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      mode != "wrap")
    return context.error("has the mode '" + mode +
                         "'; supported are constant, reflect, edge and wrap");
  FailureOr<Shape> pads = context.constantInts(1, "pads");
  FailureOr<Shape> axes = llvm::to_vector(llvm::seq<int64_t>(0, input.rank()));
  if (failed(pads) ||
      (context.has(3) && failed(axes = context.constantInts(3, "axes"))) ||
      failed(axes = context.axes(*axes, input.rank())))
    return failure();
  if (pads->size() != 2 * axes->size())
    return context.error("expects two pads for each of " + Twine(axes->size()) +
                         " axes, got " + Twine(pads->size()));
  Shape low(input.rank(), 0), high(input.rank(), 0), shape;
  Shape starts(input.rank(), 0), sizes(input.shape()), steps(input.rank(), 1);
  for (auto [index, axis] : llvm::enumerate(*axes)) {
    // Negative pads cut.
    int64_t before = (*pads)[index], after = (*pads)[index + axes->size()],
            size = sizes[axis];
    if (before < -size || after < -size || before > (int64_t(1) << 31) ||
        after > (int64_t(1) << 31) || size + before + after < 0)
      return context.error("pads dim " + Twine(axis) + " of size " +
                           Twine(size) + " by " + Twine(before) + " and " +
                           Twine(after));
    starts[axis] = std::max<int64_t>(-before, 0);
    sizes[axis] = size - starts[axis] - std::max<int64_t>(-after, 0);
    low[axis] = std::max<int64_t>(before, 0);
    high[axis] = std::max<int64_t>(after, 0);
  }
  for (int64_t dim = 0; dim < input.rank(); ++dim)
    shape.push_back(low[dim] + sizes[dim] + high[dim]);
  if (failed(context.checkShape(shape)))
    return failure();
  Emitter &emit = context.emit;
  input = emit.slice(input, starts, sizes, steps);
  if (mode != "constant") {
    for (int64_t dim = 0; dim < input.rank(); ++dim) {
      if (low[dim] + high[dim] == 0)
        continue;
      if (shape[dim] > Emitter::maxElements)
        return context.error("pads dim " + Twine(dim) + " to " +
                             Twine(shape[dim]) + " elements in mode '" + mode +
                             "'; at most " + Twine(Emitter::maxElements) +
                             " are supported");
      if (sizes[dim] == 0)
        return context.error("pads dim " + Twine(dim) +
                             ", which is empty, in mode '" + mode + "'");
      Shape places;
      for (int64_t i = -low[dim]; i < sizes[dim] + high[dim]; ++i)
        places.push_back(paddedPlace(mode, i, sizes[dim]));
      input = take(emit, input, dim, places);
    }
    context.set(0, input);
    return success();
  }
  if (context.has(2)) {
    if (context.input(2).elementType() != input.elementType() ||
        context.input(2).type().getNumElements() != 1)
      return context.error(
          "expects its value to be a scalar of the input's type");
    context.set(
        0, padWith(emit, emit.reshape(context.input(2), {}), input, low, high));
    return success();
  }
  context.set(0, emit.pad(input, low, high, Shape(input.rank(), 0)));
  return success();
}

/// Each dim is cut or padded with zeros at both sides; what is odd is at the
/// end.
LogicalResult centerCropPad(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<Shape> sizes = context.constantInts(1, "its shape");
  if (failed(sizes))
    return failure();
  Shape all = llvm::to_vector(llvm::seq<int64_t>(0, input.rank()));
  FailureOr<Shape> axes =
      context.axes(context.intsAttribute("axes").value_or(all), input.rank());
  if (failed(axes))
    return failure();
  if (sizes->size() != axes->size())
    return context.error("expects a size for each of " + Twine(axes->size()) +
                         " axes, got " + Twine(sizes->size()));
  Shape starts(input.rank(), 0), kept(input.shape()), steps(input.rank(), 1),
      low(input.rank(), 0), high(input.rank(), 0), shape(input.shape());
  for (auto [axis, size] : llvm::zip(*axes, *sizes)) {
    shape[axis] = size;
    const int64_t more = size - input.shape()[axis];
    if (more < 0) {
      starts[axis] = -more / 2;
      kept[axis] = size;
    } else {
      low[axis] = more / 2;
      high[axis] = more - low[axis];
    }
  }
  if (failed(context.checkShape(shape)))
    return failure();
  Emitter &emit = context.emit;
  context.set(0, emit.pad(emit.slice(input, starts, kept, steps), low, high,
                          Shape(input.rank(), 0)));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::padDecoders() {
  static constexpr Decoder decoders[] = {
      {"CenterCropPad", 18, 2, 2, centerCropPad},
      {"Pad", 11, 2, 4, pad},
  };
  return decoders;
}
