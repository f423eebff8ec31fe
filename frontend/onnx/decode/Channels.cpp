// Inputs of norms of channels.
#include "frontend/onnx/decode/Channels.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

Operand shardc::onnx::perChannel(Emitter &emit, const Operand &vector,
                                 int64_t rank) {
  Shape shape(rank - 1, 1);
  shape[0] = vector.shape()[0];
  return emit.reshape(vector, shape);
}

LogicalResult shardc::onnx::expectPerChannel(NodeContext &context, size_t i,
                                             int64_t channels) {
  if (context.input(i).shape() == ArrayRef(channels))
    return success();
  return context.error("expects input " + Twine(i) + " to have the shape " +
                       shapeText(channels) + ", got " +
                       shapeText(context.input(i).shape()));
}

LogicalResult shardc::onnx::expectChannels(NodeContext &context) {
  if (context.input(0).rank() < 2)
    return context.error("expects an input [N, C, ...] of rank 2 or more, got "
                         "rank " +
                         Twine(context.input(0).rank()));
  return success(succeeded(context.expectFloat(0)) &&
                 succeeded(context.sameElementType(0, 2)));
}
