// What a recurrent layer's gates become: the functions that its attribute
// activations names.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_GATEFUNCTION_H
#define SHARDC_FRONTEND_ONNX_DECODE_GATEFUNCTION_H

#include "frontend/onnx/decode/Decoder.h"

namespace shardc::onnx {

/// A function with up to two numbers.
struct GateFunction {
  llvm::StringRef name;
  double alpha, beta;

  Operand operator()(Emitter &emit, const Operand &x) const;
  bool hasAlpha() const;
  bool hasBeta() const;
};

/// Those of a node, as many as `otherwise` has names, which are taken where the
/// node has none. Errors are the node's.
mlir::FailureOr<llvm::SmallVector<GateFunction>>
gateFunctions(NodeContext &context, llvm::ArrayRef<llvm::StringRef> otherwise);

} // namespace shardc::onnx

#endif
