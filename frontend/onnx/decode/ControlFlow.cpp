#include "frontend/onnx/decode/ControlFlow.h"

#include "frontend/onnx/decode/Branches.h"
#include "frontend/onnx/decode/Iterations.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

FailureOr<std::unique_ptr<ControlFlow>>
ControlFlow::of(const NodeContext &context) {
  return context.node.proto->op_type() == "If" ? Branches::of(context)
                                               : Iterations::of(context);
}

ArrayRef<Decoder> shardc::onnx::controlFlowDecoders() {
  static constexpr Decoder decoders[] = {
      {"If", 1, 1, 1, nullptr},
      {"Loop", 1, 2, -1, nullptr},
      {"Scan", 9, 1, -1, nullptr},
  };
  return decoders;
}
