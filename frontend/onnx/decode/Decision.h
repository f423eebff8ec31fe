// What the run decides: a condition that is not known when a model is imported.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_DECISION_H
#define SHARDC_FRONTEND_ONNX_DECODE_DECISION_H

#include "frontend/onnx/decode/Decoder.h"

namespace shardc::onnx {

/// A condition of the run as a boolean []. The error is the node's: one that is
/// no boolean, or several.
mlir::FailureOr<Operand> decisionOf(const NodeContext &context,
                                    const Operand &condition);

/// `then` where the condition (a boolean []) holds and `otherwise` where not,
/// both of which are computed. The error is the node's: `what` it would be has
/// two types or shapes, or is no tensor.
mlir::FailureOr<Operand> chosen(const NodeContext &context,
                                llvm::StringRef what, const Operand &condition,
                                const Operand &then, const Operand &otherwise);

} // namespace shardc::onnx

#endif
