#include "frontend/onnx/decode/Decision.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

FailureOr<Operand> shardc::onnx::decisionOf(const NodeContext &context,
                                            const Operand &condition) {
  Emitter &emit = context.emit;
  if (condition.isSequence() || condition.isDrawn() ||
      condition.elementType() != emit.attributes().getI1Type() ||
      condition.type().getNumElements() != 1)
    return context.error("expects its condition to be one boolean, got " +
                         (condition.isSequence() || condition.isDrawn()
                              ? std::string("no tensor")
                              : typeName(condition.elementType()) + " " +
                                    shapeText(condition.shape())));
  return emit.reshape(condition, {});
}

FailureOr<Operand> shardc::onnx::chosen(const NodeContext &context,
                                        StringRef what,
                                        const Operand &condition,
                                        const Operand &then,
                                        const Operand &otherwise) {
  for (const Operand &each : {then, otherwise})
    if (each.isSequence() || each.isDrawn())
      return context.error("chooses by data of the run between what are no "
                           "tensors; only tensors are supported there");
  if (then.type() != otherwise.type())
    return context.error(
        what + " would be " + typeName(then.elementType()) + " " +
        shapeText(then.shape()) + " or " + typeName(otherwise.elementType()) +
        " " + shapeText(otherwise.shape()) +
        ", by data of the run; supported is what has one type and shape "
        "either way");
  return context.emit.select(condition, then, otherwise);
}
