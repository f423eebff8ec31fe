// Decodes what stands in place of another node.
#include "frontend/onnx/decode/StandardNode.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

void StandardNode::take(ArrayRef<StringRef> names) {
  for (const auto &attribute : context.node.proto->attribute())
    if (llvm::is_contained(names, StringRef(attribute.name())))
      *proto.add_attribute() = attribute;
}

FailureOr<SmallVector<Operand>> StandardNode::decode(ArrayRef<Operand> inputs) {
  static const DecoderTable table;
  NodeContext inner(node, context.fileName(), context.emit,
                    SmallVector<Operand>(inputs));
  if (failed(table.find(node)->decode(inner)))
    return failure();
  return SmallVector<Operand>(inner.results());
}

LogicalResult shardc::onnx::setTo(NodeContext &context, StandardNode &node,
                                  ArrayRef<Operand> inputs) {
  FailureOr<SmallVector<Operand>> results = node.decode(inputs);
  if (failed(results))
    return failure();
  context.set(0, results->front());
  return success();
}

FailureOr<Operand> shardc::onnx::sumOf(NodeContext &context,
                                       ArrayRef<Operand> operands) {
  Operand sum = operands.front();
  for (const Operand &operand : operands.drop_front()) {
    if (operand.elementType() != sum.elementType())
      return context.error("adds " + typeName(sum.elementType()) + " and " +
                           typeName(operand.elementType()));
    if (failed(context.broadcastShape({sum, operand})))
      return failure();
    sum = context.emit.binary<nn::AddOp>(sum, operand);
  }
  return sum;
}
