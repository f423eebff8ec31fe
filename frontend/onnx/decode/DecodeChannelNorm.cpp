// Norms of channels of a sample: of groups, of single ones, and of neighbours.
#include "frontend/onnx/decode/Channels.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// (x - mean) / sqrt(variance + epsilon) of rows [..., n], in the type of the
/// arithmetic.
Operand standardized(Emitter &emit, const Operand &rows, double epsilon) {
  int64_t last = rows.rank() - 1;
  Operand mean = emit.reduce<nn::ReduceMeanOp>(rows, {last});
  Operand centred = emit.binary<nn::SubOp>(rows, mean);
  Operand variance = emit.reduce<nn::ReduceMeanOp>(
      emit.binary<nn::MulOp>(centred, centred), {last});
  Operand deviation = emit.unary<nn::SqrtOp>(emit.binary<nn::AddOp>(
      variance, emit.scalar(rows.elementType(), epsilon)));
  return emit.binary<nn::DivOp>(centred, deviation);
}

/// Channels in groups, each of which is standardized over its channels and all
/// spatial dims of a sample.
LogicalResult normalizeGroups(NodeContext &context, int64_t groups,
                              const Operand &scale, const Operand &bias) {
  const Operand &x = context.input(0);
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  int64_t n = x.shape()[0],
          inner = x.type().getNumElements() / std::max<int64_t>(n * groups, 1);
  // An epsilon is often no number of 16 bits.
  Type wide = emit.arithmeticType(x.elementType());
  Operand rows =
      standardized(emit, emit.cast(emit.reshape(x, {n, groups, inner}), wide),
                   context.decimalAttribute("epsilon", 1e-5f));
  Operand y = emit.reshape(rows, x.shape());
  auto vector = [&](const Operand &given) {
    return perChannel(emit, emit.cast(given, wide), x.rank());
  };
  y = emit.binary<nn::AddOp>(emit.binary<nn::MulOp>(y, vector(scale)),
                             vector(bias));
  context.set(0, one.result(emit.cast(y, x.elementType())));
  return success();
}

LogicalResult instanceNormalization(NodeContext &context) {
  if (failed(expectChannels(context)))
    return failure();
  int64_t channels = context.input(0).shape()[1];
  if (failed(expectPerChannel(context, 1, channels)) ||
      failed(expectPerChannel(context, 2, channels)))
    return failure();
  return normalizeGroups(context, channels, context.input(1), context.input(2));
}

/// Scale and bias are per group in opset 18, and per channel since 21.
template <bool isPerGroup>
LogicalResult groupNormalization(NodeContext &context) {
  if (failed(expectChannels(context)))
    return failure();
  int64_t channels = context.input(0).shape()[1],
          groups = context.intAttribute("num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    return context.error("cannot put " + Twine(channels) + " channels into " +
                         Twine(groups) + " groups");
  Emitter &emit = context.emit;
  SmallVector<Operand, 2> vectors;
  for (size_t i : {1, 2}) {
    if (failed(expectPerChannel(context, i, isPerGroup ? groups : channels)))
      return failure();
    Operand vector = context.input(i);
    if (isPerGroup)
      vector = emit.reshape(emit.broadcast(emit.reshape(vector, {groups, 1}),
                                           {groups, channels / groups}),
                            {channels});
    vectors.push_back(vector);
  }
  return normalizeGroups(context, groups, vectors[0], vectors[1]);
}

/// x / (bias + alpha / size * sum of squares of the `size` channels around)^beta
LogicalResult localResponseNormalization(NodeContext &context) {
  Operand x = context.input(0);
  int64_t size = context.intAttribute("size", 0);
  if (x.rank() < 2 || failed(context.expectFloat(0)))
    return context.error("expects floats [N, C, ...] of rank 2 or more");
  if (size < 1 || size > 4096)
    return context.error("expects size to be from 1 to 4096, got " +
                         Twine(size));
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Type element = emit.arithmeticType(x.elementType());
  x = emit.cast(x, element);
  Shape low(x.rank(), 0), high(x.rank(), 0);
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Operand squares =
      emit.pad(emit.binary<nn::MulOp>(x, x), low, high, Shape(x.rank(), 0));
  Operand sum = emit.sliceDim(squares, 1, 0, x.shape()[1]);
  for (int64_t i = 1; i < size; ++i)
    sum =
        emit.binary<nn::AddOp>(sum, emit.sliceDim(squares, 1, i, x.shape()[1]));
  auto number = [&](StringRef name, double otherwise) {
    return emit.scalar(element, context.floatAttribute(name, otherwise));
  };
  Operand scaled = emit.binary<nn::MulOp>(
      sum, emit.scalar(element,
                       context.floatAttribute("alpha", 1e-4f) / double(size)));
  Operand base = emit.binary<nn::AddOp>(number("bias", 1), scaled);
  Operand result = emit.binary<nn::DivOp>(
      x, emit.binary<nn::PowOp>(base, number("beta", 0.75)));
  context.set(0, one.result(emit.cast(result, context.input(0).elementType())));
  return success();
}

/// (x - mean) / (deviation + 1e-9) over axes, by the function that defines it.
LogicalResult meanVarianceNormalization(NodeContext &context) {
  Operand x = context.input(0);
  if (failed(context.expectFloat(0)))
    return failure();
  FailureOr<Shape> axes = context.axes(
      context.intsAttribute("axes").value_or(Shape{0, 2, 3}), x.rank());
  if (failed(axes))
    return failure();
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  x = emit.cast(x, emit.arithmeticType(x.elementType()));
  Operand centred =
      emit.binary<nn::SubOp>(x, emit.reduce<nn::ReduceMeanOp>(x, *axes));
  Operand variance = emit.reduce<nn::ReduceMeanOp>(
      emit.binary<nn::MulOp>(centred, centred), *axes);
  Operand deviation = emit.binary<nn::AddOp>(
      emit.unary<nn::SqrtOp>(variance), emit.scalar(x.elementType(), 1e-9));
  context.set(0,
              one.result(emit.cast(emit.binary<nn::DivOp>(centred, deviation),
                                   context.input(0).elementType())));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::channelNormDecoders() {
  static constexpr Decoder decoders[] = {
      {"GroupNormalization", 18, 3, 3, groupNormalization<true>},
      {"GroupNormalization", 21, 3, 3, groupNormalization<false>},
      {"InstanceNormalization", 6, 3, 3, instanceNormalization},
      {"LRN", 1, 1, 1, localResponseNormalization},
      {"MeanVarianceNormalization", 9, 1, 1, meanVarianceNormalization},
  };
  return decoders;
}
