// Nodes that have bodies: If, Loop and Scan. Where what they do is known when a
// model is imported, one branch of an If stands for it, and the body of a loop for
// each of its iterations. What the run decides is computed either way, and then
// chosen.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_CONTROLFLOW_H
#define SHARDC_FRONTEND_ONNX_DECODE_CONTROLFLOW_H

#include "frontend/onnx/decode/Decoder.h"

#include <memory>

namespace shardc::onnx {

/// Which bodies a node goes through, and how often.
class ControlFlow {
public:
  struct Body {
    const ::onnx::GraphProto *graph = nullptr;
    int which = 1; ///< as ImportedModel::bodies counts them
  };

  /// Begins with the first body. Errors are the node's.
  static mlir::FailureOr<std::unique_ptr<ControlFlow>>
  of(const NodeContext &context);
  virtual ~ControlFlow() = default;

  /// The body that is next, unless all is done.
  virtual Body body() const = 0;
  virtual bool isDone() const = 0;
  /// What that body's inputs are.
  virtual llvm::SmallVector<Operand> inputs(Emitter &emit) const = 0;
  /// Ends that body with its outputs.
  virtual mlir::LogicalResult end(const NodeContext &context,
                                  llvm::ArrayRef<Operand> outputs) = 0;
  /// What the node's outputs are when all is done. One that is not named may be
  /// empty.
  virtual mlir::FailureOr<llvm::SmallVector<Operand>>
  results(const NodeContext &context) const = 0;
};

} // namespace shardc::onnx

#endif
