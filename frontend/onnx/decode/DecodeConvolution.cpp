// Convolutions and what folds blocks into images.
#include "frontend/onnx/decode/Convolution.h"
#include "frontend/onnx/decode/Sampling.h"
#include "frontend/onnx/graph/FxCall.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// PyTorch's exporter of conv3d (onnxscript 0.7) writes zeros of another shape,
/// [O, 2], where there is no bias.
bool isNoBias(const NodeContext &context, const Operand &bias,
              int64_t outputs) {
  if (!bias.isConstant() || bias.shape() == ArrayRef(outputs) ||
      !fxCall(*context.node.proto).target.starts_with("torch.ops.aten.conv"))
    return false;
  for (int64_t i = 0; i < bias.host().elements(); ++i)
    if (bias.host().floatAt(i) != 0)
      return false;
  return true;
}

/// Adds input 2, [O], and gives the result the order of ONNX.
Operand withBias(NodeContext &context, Operand result) {
  if (context.has(2) &&
      !isNoBias(context, context.input(2), result.shape().back()))
    result = context.emit.binary<nn::AddOp>(result, context.input(2));
  return channelsFirst(context.emit, result);
}

/// The groups, where x [N, C, S...] and w [first, second, K...] fit: `inputs`
/// is which dim of w, times how many groups, is C.
FailureOr<int64_t> groupsOf(NodeContext &context, bool isTransposed,
                            size_t bias = 2) {
  const Operand &x = context.input(0), &w = context.input(1);
  if (failed(expectSpatial(context)) || failed(context.expectFloat(0)) ||
      failed(context.sameElementType(0, bias)))
    return failure();
  if (w.rank() != x.rank())
    return context.error("expects W to have rank " + Twine(x.rank()) +
                         ", as its input has, got " + Twine(w.rank()));
  int64_t groups = context.intAttribute("group", 1);
  int64_t channels = x.shape()[1];
  int64_t outputs = isTransposed ? w.shape()[1] * groups : w.shape()[0];
  int64_t taken = isTransposed ? w.shape()[0] : w.shape()[1] * groups;
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0)
    return context.error("cannot put " + Twine(channels) + " channels and " +
                         Twine(outputs) + " kernels into " + Twine(groups) +
                         " groups");
  if (taken != channels)
    return context.error("expects W to take " + Twine(channels) +
                         " channels in " + Twine(groups) + " groups, got " +
                         Twine(taken) + "; check the --dim flags");
  if (context.has(bias) && context.input(bias).shape() != ArrayRef(outputs) &&
      !isNoBias(context, context.input(bias), outputs))
    return context.error("expects B to have the shape " + shapeText(outputs) +
                         ", got " + shapeText(context.input(bias).shape()));
  return groups;
}

LogicalResult conv(NodeContext &context) {
  FailureOr<int64_t> groups = groupsOf(context, false);
  if (failed(groups))
    return failure();
  const Operand &x = context.input(0), &w = context.input(1);
  FailureOr<Windows> windows =
      windowsOf(context, x.shape().drop_front(2), w.shape().drop_front(2));
  if (failed(windows))
    return failure();
  Shape shape = with({x.shape()[0], w.shape()[0]}, windows->output);
  if (failed(context.checkShape(shape)))
    return failure();
  Emitter::OneRounding one(context.emit);
  Operand result = Convolution(context, *groups)
                       .convolve(*windows, channelsLast(context.emit, x), w);
  context.set(0, one.result(withBias(context, result)));
  return success();
}

/// What the pads of a ConvTranspose cut off, by its output's shape.
FailureOr<Shape> outputOf(NodeContext &context, Windows &windows) {
  size_t dims = windows.dims();
  Shape more(dims, 0), output(dims);
  if (auto given = context.intsAttribute("output_padding")) {
    if (given->size() != dims ||
        llvm::any_of(*given, [](int64_t n) { return n < 0 || n > (1 << 30); }))
      return context.error("expects output_padding to have " + Twine(dims) +
                           " numbers of 0 or more");
    more = *given;
  }
  std::optional<Shape> wanted = context.intsAttribute("output_shape");
  if (wanted && wanted->size() == dims + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != dims)
    return context.error("expects output_shape to have " + Twine(dims) +
                         " numbers, got " + Twine(wanted->size()));
  StringRef mode = context.stringAttribute("auto_pad", "NOTSET");
  for (size_t dim = 0; dim < dims; ++dim) {
    int64_t whole = (windows.input[dim] - 1) * windows.strides[dim] +
                    windows.reach(dim) + more[dim];
    if (wanted || mode.starts_with("SAME")) {
      output[dim] =
          wanted ? (*wanted)[dim] : windows.input[dim] * windows.strides[dim];
      // What is missing is added behind, as output_padding is.
      int64_t cut = std::max<int64_t>(0, whole - output[dim]);
      windows.low[dim] = mode == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    } else {
      output[dim] = whole - windows.low[dim] - windows.high[dim];
    }
    if (output[dim] < 1)
      return context.error("has a result of size " + Twine(output[dim]) +
                           " in spatial dim " + Twine(dim) +
                           "; check the --dim flags");
  }
  return output;
}

LogicalResult convTranspose(NodeContext &context) {
  FailureOr<int64_t> groups = groupsOf(context, true);
  if (failed(groups))
    return failure();
  const Operand &x = context.input(0), &w = context.input(1);
  FailureOr<Windows> windows = windowsOfGrowth(context, x.shape().drop_front(2),
                                               w.shape().drop_front(2));
  if (failed(windows))
    return failure();
  // Each is a convolution of its own. (They are checked to be below 2^31.)
  int64_t phases = 1;
  for (int64_t stride : windows->strides)
    if ((phases *= stride) > Windows::mostTaps)
      return context.error("has strides " + shapeText(windows->strides) +
                           "; at most " + Twine(Windows::mostTaps) +
                           " in all dims together are supported");
  // What the pads cut off is computed, too.
  Shape grown = {x.shape()[0], w.shape()[1] * *groups};
  for (size_t dim = 0; dim < windows->dims(); ++dim)
    grown.push_back((windows->input[dim] - 1) * windows->strides[dim] +
                    windows->reach(dim));
  if (failed(context.checkShape(grown)))
    return failure();
  FailureOr<Shape> output = outputOf(context, *windows);
  if (failed(output) || failed(context.checkShape(with(
                            {x.shape()[0], w.shape()[1] * *groups}, *output))))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand whole =
      Convolution(context, *groups).grow(*windows, channelsLast(emit, x), w);
  Shape starts(whole.rank(), 0), sizes(whole.shape()), steps(whole.rank(), 1),
      low(whole.rank(), 0), high(whole.rank(), 0);
  for (size_t dim = 0; dim < windows->dims(); ++dim) {
    int64_t begin = std::min(windows->low[dim], whole.shape()[dim + 1]);
    starts[dim + 1] = begin;
    sizes[dim + 1] = std::min((*output)[dim], whole.shape()[dim + 1] - begin);
    high[dim + 1] = (*output)[dim] - sizes[dim + 1];
  }
  Operand result = emit.pad(emit.slice(whole, starts, sizes, steps), low, high,
                            Shape(whole.rank(), 0));
  context.set(0, one.result(withBias(context, result)));
  return success();
}

/// A convolution whose windows take each tap at a place of its own: an offset
/// [N, g taps r, output...] of r numbers per tap, and a factor [N, g taps,
/// output...] of each, for g groups of channels.
/// https://onnx.ai/onnx/operators/onnx__DeformConv.html
LogicalResult deformConv(NodeContext &context) {
  FailureOr<int64_t> groups = groupsOf(context, false, /*bias=*/3);
  if (failed(groups))
    return failure();
  const Operand &x = context.input(0), &w = context.input(1),
                &offset = context.input(2);
  FailureOr<Windows> windows =
      windowsOf(context, x.shape().drop_front(2), w.shape().drop_front(2));
  if (failed(windows))
    return failure();
  int64_t parts = context.intAttribute("offset_group", 1),
          samples = x.shape()[0], channels = x.shape()[1],
          taps = windows->taps(), dims = int64_t(windows->dims());
  if (parts < 1 || channels % parts != 0)
    return context.error("cannot put " + Twine(channels) + " channels into " +
                         Twine(parts) + " offset groups");
  auto fits = [&](size_t i, int64_t numbers) -> LogicalResult {
    Shape wanted = with({samples, parts * taps * numbers}, windows->output);
    if (context.input(i).shape() == ArrayRef<int64_t>(wanted))
      return success();
    return context.error("expects input " + Twine(i) + " to have the shape " +
                         shapeText(wanted) + ", got " +
                         shapeText(context.input(i).shape()));
  };
  if (failed(context.sameElementType(0, 4)) || failed(fits(2, dims)) ||
      (context.has(4) && failed(fits(4, 1))))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Type type = emit.arithmeticType(x.elementType());
  Operand images = channelsLast(emit, emit.cast(x, type)),
          offsets = emit.cast(offset, type);
  int64_t places = llvm::product_of(windows->output), part = channels / parts;
  SmallVector<Operand> perPart;
  for (int64_t group = 0; group < parts; ++group) {
    Operand image =
        emit.sliceDim(images, images.rank() - 1, group * part, part);
    SmallVector<Operand> all;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t number = group * taps + tap;
      Shape at = windows->tap(tap);
      SmallVector<Operand> where;
      for (int64_t dim = 0; dim < dims; ++dim) {
        Shape along(dims + 1, 1);
        nn::HostTensor::Floats begins;
        for (int64_t i = 0; i < windows->output[dim]; ++i)
          begins.push_back(double(i * windows->strides[dim] -
                                  windows->low[dim] +
                                  at[dim] * windows->dilations[dim]));
        along[dim + 1] = windows->output[dim];
        Operand begin =
            nn::HostTensor::floats(emit.typeOf(along, type), std::move(begins));
        Operand moved =
            emit.reshape(emit.sliceDim(offsets, 1, number * dims + dim, 1),
                         with({samples}, windows->output));
        where.push_back(emit.reshape(emit.binary<nn::AddOp>(moved, begin),
                                     {samples, places}));
      }
      Operand taken =
          Sampler(emit, image, SampleMode::linear, SamplePadding::zeros, false)
              .at(where);
      if (context.has(4))
        taken = emit.binary<nn::MulOp>(
            taken, emit.reshape(emit.sliceDim(emit.cast(context.input(4), type),
                                              1, number, 1),
                                {samples, places, 1}));
      all.push_back(emit.reshape(taken, {samples, places, 1, part}));
    }
    perPart.push_back(emit.concat(all, 2));
  }
  Operand rows = emit.concat(perPart, 3);
  rows = emit.reshape(rows,
                      with(with({samples}, windows->output), {taps, channels}));
  Operand result =
      Convolution(context, *groups).multiply(rows, emit.cast(w, type));
  if (context.has(3))
    result = emit.binary<nn::AddOp>(result, emit.cast(context.input(3), type));
  context.set(
      0, one.result(emit.cast(channelsFirst(emit, result), x.elementType())));
  return success();
}

/// Blocks [N, C taps, L], added where they overlap: [N, C, image...].
LogicalResult col2Im(NodeContext &context) {
  const Operand &input = context.input(0);
  FailureOr<Shape> image = context.constantInts(1, "its image shape");
  if (failed(image))
    return failure();
  FailureOr<Shape> block = context.constantInts(2, "its block shape");
  if (failed(block))
    return failure();
  auto isPositive = [](int64_t n) { return n > 0 && n < (int64_t(1) << 31); };
  if (image->empty() || block->size() != image->size() ||
      !llvm::all_of(*image, isPositive) || !llvm::all_of(*block, isPositive) ||
      input.rank() != 3)
    return context.error("expects an input of rank 3, and an image shape and a "
                         "block shape of one length, got " +
                         shapeText(input.shape()) + ", " + shapeText(*image) +
                         " and " + shapeText(*block));
  FailureOr<Windows> windows = windowsOf(context, *image, *block);
  if (failed(windows))
    return failure();
  int64_t samples = input.shape()[0], taps = windows->taps(),
          places = llvm::product_of(windows->output);
  if (input.shape()[1] % taps != 0 || input.shape()[2] != places)
    return context.error("expects blocks of shape [N, C " + Twine(taps) + ", " +
                         Twine(places) + "], got " + shapeText(input.shape()));
  if (failed(context.expectFloat(0)))
    return failure();
  int64_t channels = input.shape()[1] / taps;
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand blocks = emit.reshape(input, {samples, channels, taps, places}), sum;
  size_t dims = windows->dims();
  Shape starts(dims + 2, 0), sizes = with({samples, channels}, *image),
                             steps(dims + 2, 1);
  for (int64_t tap = 0; tap < taps; ++tap) {
    Operand term = emit.reshape(emit.sliceDim(blocks, 2, tap, 1),
                                with({samples, channels}, windows->output));
    Shape low(dims + 2, 0), high(dims + 2, 0), interior(dims + 2, 0);
    Shape at = windows->tap(tap);
    for (size_t dim = 0; dim < dims; ++dim) {
      int64_t begin = at[dim] * windows->dilations[dim],
              reach = (windows->output[dim] - 1) * windows->strides[dim] + 1,
              whole = windows->low[dim] + (*image)[dim] + windows->high[dim];
      low[dim + 2] = begin;
      high[dim + 2] = whole - begin - reach;
      interior[dim + 2] = windows->strides[dim] - 1;
      starts[dim + 2] = windows->low[dim];
    }
    term = emit.pad(term, low, high, interior);
    sum = sum ? emit.binary<nn::AddOp>(sum, term) : term;
  }
  context.set(0, one.result(emit.slice(sum, starts, sizes, steps)));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::convolutionDecoders() {
  static constexpr Decoder decoders[] = {
      {"Col2Im", 18, 3, 3, col2Im},
      {"Conv", 1, 2, 3, conv},
      {"ConvTranspose", 1, 2, 3, convTranspose},
      {"DeformConv", 19, 3, 5, deformConv},
  };
  return decoders;
}
