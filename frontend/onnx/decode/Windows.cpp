// Geometry of windows: https://onnx.ai/onnx/operators/onnx__Conv.html,
// onnx__MaxPool.html.
#include "frontend/onnx/decode/Windows.h"
#include "frontend/onnx/decode/Taken.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using llvm::Twine;

namespace shardc::onnx {

int64_t Windows::taps() const {
  int64_t count = 1;
  for (int64_t size : kernel)
    count *= size;
  return count;
}

Shape Windows::tap(int64_t i) const {
  Shape position(dims());
  for (size_t dim = dims(); dim-- > 0; i /= kernel[dim])
    position[dim] = i % kernel[dim];
  return position;
}

/// An attribute with `count` numbers of at least `least`; `otherwise` each
/// where it is not given.
static FailureOr<Shape> listOf(NodeContext &context, StringRef name,
                               size_t count, int64_t least, int64_t otherwise) {
  std::optional<Shape> given = context.intsAttribute(name);
  if (!given)
    return Shape(count, otherwise);
  if (given->size() != count)
    return context.error("expects " + name + " to have " + Twine(count) +
                         " numbers, got " + Twine(given->size()));
  for (int64_t value : *given)
    if (value < least || value > (int64_t(1) << 31))
      return context.error("has " + Twine(value) + " in " + name +
                           "; expects at least " + Twine(least));
  return *given;
}

/// A kernel that is larger than the input has one window, which is not whole, if
/// it is larger by less than a stride (EfficientNet's pooler: 2560 by 2560). What
/// lies beyond the input and its pads counts nowhere.
static void clipToInput(Windows &of, size_t dim) {
  int64_t padded = of.low[dim] + of.input[dim] + of.high[dim];
  if (of.dilations[dim] == 1 && of.kernel[dim] > padded &&
      of.kernel[dim] - padded < of.strides[dim])
    of.kernel[dim] = padded;
}

/// The lists that need no count of windows.
static FailureOr<Windows> lists(NodeContext &context, ArrayRef<int64_t> spatial,
                                ArrayRef<int64_t> kernel) {
  Windows of;
  of.input = Shape(spatial);
  of.kernel = Shape(kernel);
  size_t dims = spatial.size();
  if (kernel.size() != dims)
    return context.error("expects a kernel of " + Twine(dims) +
                         " dims, as many as the input has behind its first "
                         "two, got " +
                         Twine(kernel.size()));
  if (std::optional<Shape> said = context.intsAttribute("kernel_shape");
      said && *said != of.kernel)
    return context.error("has the kernel_shape " + shapeText(*said) +
                         " and a kernel of " + shapeText(kernel));
  FailureOr<Shape> strides = listOf(context, "strides", dims, 1, 1),
                   dilations = listOf(context, "dilations", dims, 1, 1),
                   pads = listOf(context, "pads", 2 * dims, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  of.strides = *strides;
  of.dilations = *dilations;
  of.low = Shape(ArrayRef<int64_t>(*pads).take_front(dims));
  of.high = Shape(ArrayRef<int64_t>(*pads).drop_front(dims));
  StringRef mode = context.stringAttribute("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" &&
      mode != "SAME_LOWER")
    return context.error("has the auto_pad '" + mode +
                         "'; supported are NOTSET, SAME_UPPER, SAME_LOWER "
                         "and VALID");
  if (mode != "NOTSET") {
    of.low.assign(dims, 0);
    of.high.assign(dims, 0);
  }
  // Pads of SAME_UPPER and SAME_LOWER make room for the whole kernel.
  if (context.intAttribute("ceil_mode", 0) != 0 && !mode.starts_with("SAME"))
    for (size_t dim = 0; dim < dims; ++dim)
      clipToInput(of, dim);
  int64_t taps = 1;
  for (int64_t size : of.kernel)
    if (size < 1 || llvm::MulOverflow(taps, size, taps) ||
        taps > Windows::mostTaps)
      return context.error("has a kernel of " + shapeText(kernel) +
                           "; expects 1 to " + Twine(Windows::mostTaps) +
                           " elements");
  return of;
}

FailureOr<Windows> windowsOfGrowth(NodeContext &context,
                                   ArrayRef<int64_t> spatial,
                                   ArrayRef<int64_t> kernel) {
  return lists(context, spatial, kernel);
}

FailureOr<Windows> windowsOf(NodeContext &context, ArrayRef<int64_t> spatial,
                             ArrayRef<int64_t> kernel) {
  FailureOr<Windows> found = lists(context, spatial, kernel);
  if (failed(found))
    return failure();
  Windows &of = *found;
  StringRef mode = context.stringAttribute("auto_pad", "NOTSET");
  Shape padded(context.input(0).shape().take_front(2));
  bool rest = context.intAttribute("ceil_mode", 0) != 0;
  for (size_t dim = 0; dim < of.dims(); ++dim) {
    int64_t size = of.input[dim], stride = of.strides[dim];
    if (mode.starts_with("SAME")) {
      // As many windows as strides begin in the input.
      int64_t windows = (size + stride - 1) / stride;
      int64_t pads =
          std::max<int64_t>(0, (windows - 1) * stride + of.reach(dim) - size);
      (mode == "SAME_UPPER" ? of.low : of.high)[dim] = pads / 2;
      (mode == "SAME_UPPER" ? of.high : of.low)[dim] = pads - pads / 2;
    }
    int64_t room = of.low[dim] + size + of.high[dim] - of.reach(dim);
    if (room < 0)
      return context.error("has a kernel that reaches over " +
                           Twine(of.reach(dim)) + " elements of spatial dim " +
                           Twine(dim) + ", which has " +
                           Twine(of.low[dim] + size + of.high[dim]) +
                           " with its pads" + "; check the --dim flags");
    int64_t windows = room / stride + 1;
    // A last window that is not whole, if it begins before the pads.
    if (rest && room % stride != 0 && windows * stride < size + of.low[dim])
      ++windows;
    of.output.push_back(windows);
    padded.push_back(of.low[dim] + size + of.high[dim]);
  }
  if (failed(context.checkShape(padded)))
    return failure();
  return of;
}

LogicalResult expectSpatial(NodeContext &context) {
  if (context.input(0).rank() < 3)
    return context.error("expects an input [N, C, S...] of rank 3 or more, got "
                         "rank " +
                         Twine(context.input(0).rank()));
  return success();
}

Operand channelsLast(Emitter &emit, const Operand &input) {
  Shape permutation = {0};
  for (int64_t dim = 2; dim < input.rank(); ++dim)
    permutation.push_back(dim);
  permutation.push_back(1);
  return emit.transpose(input, permutation);
}

Operand channelsFirst(Emitter &emit, const Operand &input) {
  Shape permutation = {0, input.rank() - 1};
  for (int64_t dim = 1; dim + 1 < input.rank(); ++dim)
    permutation.push_back(dim);
  return emit.transpose(input, permutation);
}

Taps::Taps(NodeContext &context, const Windows &windows, const Operand &input,
           const Operand &outside)
    : emit(context.emit), windows(windows) {
  Shape low(input.rank(), 0), high(input.rank(), 0);
  for (size_t dim = 0; dim < windows.dims(); ++dim) {
    low[dim + 1] = windows.low[dim];
    // What no window reaches is not there.
    int64_t end = (windows.output[dim] - 1) * windows.strides[dim] +
                  windows.reach(dim) - windows.low[dim];
    high[dim + 1] = std::max<int64_t>(0, end - windows.input[dim]);
  }
  padded = padWith(emit, outside, input, low, high);
}

Operand Taps::operator[](int64_t tap) const {
  Shape position = windows.tap(tap), starts(padded.rank(), 0),
        sizes(padded.shape()), steps(padded.rank(), 1);
  for (size_t dim = 0; dim < windows.dims(); ++dim) {
    starts[dim + 1] = position[dim] * windows.dilations[dim];
    sizes[dim + 1] = windows.output[dim];
    steps[dim + 1] = windows.strides[dim];
  }
  return emit.slice(padded, starts, sizes, steps);
}

} // namespace shardc::onnx
