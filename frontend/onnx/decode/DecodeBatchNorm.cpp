// Batch norms, by the statistics of the batch or by running ones.
#include "frontend/onnx/decode/Channels.h"
#include "frontend/onnx/graph/BatchNorm.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// By running statistics, which are constants or parameters of the model.
void byRunning(NodeContext &context) {
  const Operand &x = context.input(0);
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  Type element = emit.arithmeticType(x.elementType());
  // Statistics that the compiler knows stay values: what is made of them has
  // the run's precision.
  auto vector = [&](size_t i) {
    return perChannel(
        emit, emit.cast(emit.materialize(context.input(i)), element), x.rank());
  };
  Operand deviation = emit.unary<nn::SqrtOp>(emit.binary<nn::AddOp>(
      vector(4),
      emit.scalar(element, context.decimalAttribute("epsilon", 1e-5f))));
  Operand factor = emit.binary<nn::DivOp>(vector(1), deviation);
  Operand centred = emit.binary<nn::SubOp>(emit.cast(x, element), vector(3));
  Operand result = emit.binary<nn::AddOp>(
      emit.binary<nn::MulOp>(centred, factor), vector(2));
  context.set(0, one.result(emit.cast(result, x.elementType())));
}

/// Steps add up what is between 0.9 and the nearest float32.
double momentumOf(const NodeContext &context) {
  return context.decimalAttribute("momentum", 0.9f);
}

/// A running statistic behind the node, as ONNX defines it.
Operand follow(NodeContext &context, size_t input, const Operand &ofBatch) {
  Emitter &emit = context.emit;
  const double momentum = momentumOf(context);
  Type element = ofBatch.elementType();
  Operand kept = emit.binary<nn::MulOp>(
      emit.cast(context.input(input), element), emit.scalar(element, momentum));
  Operand added =
      emit.binary<nn::MulOp>(ofBatch, emit.scalar(element, 1 - momentum));
  return emit.cast(emit.binary<nn::AddOp>(kept, added),
                   context.input(input).elementType());
}

/// By the batch's statistics, which running ones follow.
LogicalResult byBatch(NodeContext &context) {
  const Operand &x = context.input(0);
  Emitter &emit = context.emit;
  const int64_t channels = x.shape()[1], rows = x.type().getNumElements() /
                                                std::max<int64_t>(channels, 1);
  if (context.input(3).isConstant() && emit.isFirst("constant statistics"))
    context.warning(
        "is in train mode, and its running statistics are constants "
        "that no name tells apart: they stay as they are");
  Shape toLast = {0}, toFirst = {0, x.rank() - 1};
  for (int64_t dim = 2; dim < x.rank(); ++dim) {
    toLast.push_back(dim);
    toFirst.push_back(dim - 1);
  }
  toLast.push_back(1);
  Operand last = emit.transpose(x, toLast);
  Operand flat = emit.reshape(last, {rows, channels});
  Type wide = emit.arithmeticType(x.elementType());
  Type vector = emit.typeOf({channels}, wide);
  SmallVector<Operand, 5> operands = {flat};
  for (size_t i = 1; i < 5; ++i)
    operands.push_back(emit.materialize(context.input(i)));
  Builder &builder = emit.attributes();
  SmallVector<NamedAttribute> attributes = {
      emit.named("epsilon", builder.getF64FloatAttr(
                                context.decimalAttribute("epsilon", 1e-5f))),
      emit.named("momentum", builder.getF64FloatAttr(momentumOf(context))),
      emit.named("site", emit.nextSite())};
  if (context.node.isPyTorchs)
    attributes.push_back(emit.flag("unbiased"));
  SmallVector<Operand> results =
      emit.emit(nn::BatchNormOp::getOperationName(),
                {flat.type(), vector, vector}, operands, attributes);
  context.set(0,
              emit.transpose(emit.reshape(results[0], last.shape()), toFirst));
  for (size_t i : {1, 2}) {
    if (context.wants(i))
      context.set(i, follow(context, i + 2, results[i]));
    // Before opset 14 the batch's own, too.
    if (context.wants(i + 2))
      context.set(i + 2, emit.cast(results[i], x.elementType()));
  }
  return success();
}

LogicalResult batchNormalization(NodeContext &context) {
  if (failed(expectChannels(context)))
    return failure();
  for (size_t i = 1; i < 5; ++i)
    if (failed(expectPerChannel(context, i, context.input(0).shape()[1])))
      return failure();
  std::optional<bool> isTrained = isByBatch(*context.node.proto);
  if (isTrained.value_or(false))
    return byBatch(context);
  if (!isTrained && context.emit.isFirst("batch norm"))
    context.warning("is by running statistics, as in eval mode, and so are "
                    "others like it; PyTorch's train mode, which the exporter "
                    "by tracing leaves by default, is by those of the batch");
  byRunning(context);
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::batchNormDecoders() {
  static constexpr Decoder decoders[] = {
      {"BatchNormalization", 9, 5, 5, batchNormalization},
  };
  return decoders;
}
