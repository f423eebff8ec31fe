// Images sampled at places that are computed: GridSample, AffineGrid, which makes
// the places, and RoiAlign.
#include "frontend/onnx/decode/Sampling.h"
#include "frontend/onnx/decode/Windows.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// Of a dim, from the grid's [-1, 1] to elements.
Operand inElements(Emitter &emit, const Operand &place, int64_t size,
                   bool cornersAreCentres) {
  Type type = place.elementType();
  auto number = [&](double value) { return emit.scalar(type, value); };
  Operand from = emit.binary<nn::AddOp>(place, number(1));
  if (cornersAreCentres)
    return emit.binary<nn::MulOp>(from, number(double(size - 1) / 2));
  return emit.binary<nn::SubOp>(
      emit.binary<nn::MulOp>(from, number(double(size) / 2)), number(0.5));
}

LogicalResult gridSample(NodeContext &context) {
  const Operand &images = context.input(0), &grid = context.input(1);
  if (failed(expectSpatial(context)) || failed(context.expectFloat(1)))
    return failure();
  int64_t dims = images.rank() - 2;
  if (grid.rank() != images.rank() || grid.shape().back() != dims ||
      grid.shape()[0] != images.shape()[0])
    return context.error("expects a grid of " + Twine(images.shape()[0]) +
                         " samples, rank " + Twine(images.rank()) +
                         " and places of " + Twine(dims) + " numbers, got " +
                         shapeText(grid.shape()));
  StringRef mode = context.stringAttribute("mode", "linear"),
            padding = context.stringAttribute("padding_mode", "zeros");
  auto sampleMode = llvm::StringSwitch<std::optional<SampleMode>>(mode)
                        .Case("nearest", SampleMode::nearest)
                        .Cases({"linear", "bilinear"}, SampleMode::linear)
                        .Cases({"cubic", "bicubic"}, SampleMode::cubic)
                        .Default(std::nullopt);
  auto samplePadding = llvm::StringSwitch<std::optional<SamplePadding>>(padding)
                           .Case("zeros", SamplePadding::zeros)
                           .Case("border", SamplePadding::border)
                           .Case("reflection", SamplePadding::reflection)
                           .Default(std::nullopt);
  if (!sampleMode || !samplePadding)
    return context.error(
        "has the mode '" + mode + "' and the padding '" + padding +
        "'; supported are the modes nearest, linear and cubic, and zeros, "
        "border and reflection");
  if (*sampleMode != SampleMode::nearest && failed(context.expectFloat(0)))
    return failure();
  // Three dims of four taps are 64 gathers.
  if (*sampleMode == SampleMode::cubic && dims > 3)
    return context.error("is cubic over " + Twine(dims) +
                         " dims; supported are 3");
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  bool cornersAreCentres = context.intAttribute("align_corners", 0) != 0;
  int64_t samples = images.shape()[0],
          places = llvm::product_of(grid.shape().drop_front().drop_back());
  Operand flat =
      emit.reshape(emit.cast(grid, emit.arithmeticType(grid.elementType())),
                   {samples, places, dims});
  // The grid's first number is the place in the last dim.
  SmallVector<Operand> where;
  for (int64_t dim = 0; dim < dims; ++dim)
    where.push_back(
        inElements(emit,
                   emit.reshape(emit.sliceDim(flat, 2, dims - 1 - dim, 1),
                                {samples, places}),
                   images.shape()[2 + dim], cornersAreCentres));
  Operand taken = Sampler(emit, channelsLast(emit, images), *sampleMode,
                          *samplePadding, cornersAreCentres)
                      .at(where);
  Shape shape(grid.shape().drop_back());
  shape.push_back(images.shape()[1]);
  context.set(0, one.result(channelsFirst(emit, emit.reshape(taken, shape))));
  return success();
}

/// theta [N, r, r + 1] times each place of an evenly spaced grid:
/// [N, S..., r]. https://onnx.ai/onnx/operators/onnx__AffineGrid.html
LogicalResult affineGrid(NodeContext &context) {
  const Operand &theta = context.input(0);
  FailureOr<Shape> size = context.constantInts(1, "its size");
  if (failed(context.expectFloat(0)) || failed(size))
    return failure();
  int64_t dims = int64_t(size->size()) - 2;
  if (dims < 1 ||
      theta.shape() != ArrayRef<int64_t>{(*size)[0], dims, dims + 1})
    return context.error("expects theta of shape [N, r, r + 1] for a size of r "
                         "spatial dims, got " +
                         shapeText(theta.shape()) + " and the size " +
                         shapeText(*size));
  ArrayRef<int64_t> spatial = ArrayRef(*size).drop_front(2);
  if (llvm::any_of(spatial, [](int64_t n) { return n < 1; }) ||
      failed(context.checkShape(*size)))
    return context.error("expects positive sizes, got " + shapeText(*size));
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Type type = emit.arithmeticType(theta.elementType());
  bool cornersAreCentres = context.intAttribute("align_corners", 0) != 0;
  Shape with(spatial);
  with.push_back(1);
  SmallVector<Operand> numbers; // the last dim's first
  for (int64_t dim = dims; dim-- > 0;) {
    nn::HostTensor::Floats values;
    for (int64_t i = 0; i < spatial[dim]; ++i)
      values.push_back(!cornersAreCentres ? (2 * i + 1.0) / spatial[dim] - 1
                       : spatial[dim] > 1 ? 2.0 * i / (spatial[dim] - 1) - 1
                                          : 0);
    Shape along(dims + 1, 1);
    along[dim] = spatial[dim];
    numbers.push_back(emit.broadcast(
        nn::HostTensor::floats(emit.typeOf(along, type), std::move(values)),
        with));
  }
  numbers.push_back(emit.splat(with, type, 1));
  int64_t places = llvm::product_of(spatial);
  Operand base = emit.broadcast(
      emit.reshape(emit.concat(numbers, dims), {1, places, dims + 1}),
      {(*size)[0], places, dims + 1});
  Operand grid = emit.emit<nn::MatMulOp>(
      emit.typeOf({(*size)[0], places, dims}, type),
      {base, emit.cast(theta, type)}, {emit.flag("transpose_rhs")});
  Shape shape = {(*size)[0]};
  shape.append(spatial.begin(), spatial.end());
  shape.push_back(dims);
  context.set(
      0, one.result(emit.cast(emit.reshape(grid, shape), theta.elementType())));
  return success();
}

/// Bins of regions of images: the places that are sampled lie evenly in them.
struct Bins {
  int64_t count, ratio; ///< along a dim; places of one
  int64_t places() const { return count * ratio; }
};

/// Places [R, bins.places()] along a dim, of regions that begin at column `begin`
/// of rois [R, 4] and end at the column two behind it.
Operand placesOf(Emitter &emit, const Operand &rois, int64_t begin, Bins bins,
                 double scale, bool isAligned) {
  Type type = rois.elementType();
  auto number = [&](double value) { return emit.scalar(type, value); };
  auto edge = [&](int64_t column) {
    return emit.binary<nn::SubOp>(
        emit.binary<nn::MulOp>(emit.sliceDim(rois, 1, column, 1),
                               number(scale)),
        number(isAligned ? 0.5 : 0));
  };
  Operand first = edge(begin);
  Operand length = emit.binary<nn::SubOp>(edge(begin + 2), first);
  if (!isAligned)
    length = emit.binary<nn::MaxOp>(length, number(1));
  Operand steps = emit.binary<nn::AddOp>(
      emit.cast(emit.iota(bins.places(), 1, 2), type), number(0.5));
  return emit.binary<nn::AddOp>(
      first,
      emit.binary<nn::MulOp>(
          steps, emit.binary<nn::MulOp>(length, number(1.0 / bins.places()))));
}

/// Whether places are no further than an element away from the image.
Operand isNear(Emitter &emit, const Operand &places, int64_t size) {
  Type type = places.elementType();
  return emit.binary<nn::AndOp>(
      emit.compare(nn::CompareKind::ge, places, emit.scalar(type, -1)),
      emit.compare(nn::CompareKind::le, places, emit.scalar(type, size)));
}

/// He et al., Mask R-CNN, arXiv:1703.06870, section 3: the mean of
/// sampling_ratio^2 places in each bin of a region. As ONNX's reference and
/// onnxruntime have it, `max` is of what each of the four elements around a place
/// weighs. Regions have no gradient, as in torchvision.
/// https://onnx.ai/onnx/operators/onnx__RoiAlign.html
LogicalResult roiAlign(NodeContext &context) {
  const Operand &images = context.input(0), &of = context.input(2);
  if (failed(context.expectFloat(0)) || failed(context.expectFloat(1)))
    return failure();
  const int64_t regions =
      context.input(1).shape().empty() ? 0 : context.input(1).shape()[0];
  if (images.rank() != 4 || of.isFloat() ||
      context.input(1).shape() != ArrayRef<int64_t>{regions, 4} ||
      of.shape() != ArrayRef<int64_t>{regions})
    return context.error("expects images [N, C, H, W], regions [R, 4] and the "
                         "image of each [R], got " +
                         shapeText(images.shape()) + ", " +
                         shapeText(context.input(1).shape()) + " and " +
                         shapeText(of.shape()));
  StringRef mode = context.stringAttribute("mode", "avg"),
            coordinates = context.stringAttribute(
                "coordinate_transformation_mode",
                context.node.opset < 16 ? "output_half_pixel" : "half_pixel");
  const int64_t ratio = context.intAttribute("sampling_ratio", 0);
  Bins high{context.intAttribute("output_height", 1), ratio},
      wide{context.intAttribute("output_width", 1), ratio};
  if (mode != "avg" && mode != "max")
    return context.error("has the mode '" + mode +
                         "'; supported are avg and max");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return context.error("has the coordinate_transformation_mode '" +
                         coordinates +
                         "'; supported are half_pixel and output_half_pixel");
  if (ratio < 1 || high.count < 1 || wide.count < 1)
    return context.error(
        "expects a sampling_ratio of 1 or more, which is known "
        "before the regions are, and an output of 1 or more "
        "bins, got " +
        Twine(ratio) + " and " + shapeText({high.count, wide.count}));
  if (failed(context.checkShape({high.count, ratio, wide.count, ratio})))
    return failure();
  const int64_t channels = images.shape()[1],
                places[] = {high.places(), wide.places()};
  if (failed(context.checkShape({regions, places[0], places[1], channels})))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Operand rois = emit.cast(context.input(1),
                           emit.arithmeticType(context.input(1).elementType()));
  if (!rois.isConstant())
    rois = emit.emit<nn::StopGradientOp>(rois.type(), {rois});
  const bool isAligned = coordinates == "half_pixel";
  const double scale = context.floatAttribute("spatial_scale", 1);
  SmallVector<Operand> where;
  Operand isThere;
  for (int64_t dim : {0, 1}) {
    Operand along =
        placesOf(emit, rois, 1 - dim, dim ? wide : high, scale, isAligned);
    Shape shape = {regions, 1, 1};
    shape[1 + dim] = places[dim];
    auto everywhere = [&](const Operand &value) {
      return emit.reshape(emit.broadcast(emit.reshape(value, shape),
                                         {regions, places[0], places[1]}),
                          {regions, places[0] * places[1]});
    };
    where.push_back(everywhere(along));
    Operand near = everywhere(isNear(emit, along, images.shape()[2 + dim]));
    isThere = isThere ? emit.binary<nn::AndOp>(isThere, near) : near;
  }
  Sampler sampler(emit, channelsLast(emit, images), SampleMode::linear,
                  SamplePadding::border, /*cornersAreCentres=*/true);
  sampler.takeFrom(of);
  Operand taken = sampler.at(where, mode == "avg" ? Sampler::Parts::added
                                                  : Sampler::Parts::largest);
  taken =
      emit.select(emit.reshape(isThere, {regions, places[0] * places[1], 1}),
                  taken, emit.scalar(taken.elementType(), 0));
  taken = emit.reshape(
      taken, {regions, high.count, ratio, wide.count, ratio, channels});
  taken = mode == "avg" ? emit.reduce<nn::ReduceMeanOp>(taken, {2, 4})
                        : emit.reduce<nn::ReduceMaxOp>(taken, {2, 4});
  context.set(0, one.result(channelsFirst(
                     emit, emit.reshape(taken, {regions, high.count, wide.count,
                                                channels}))));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::samplingDecoders() {
  static constexpr Decoder decoders[] = {
      {"AffineGrid", 20, 2, 2, affineGrid},
      {"GridSample", 16, 2, 2, gridSample},
      {"RoiAlign", 10, 3, 3, roiAlign},
  };
  return decoders;
}
