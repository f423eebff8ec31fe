// An If: the branch that its condition takes, or, where the run decides that, both
// in turn and a choice between their outputs.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_BRANCHES_H
#define SHARDC_FRONTEND_ONNX_DECODE_BRANCHES_H

#include "frontend/onnx/decode/ControlFlow.h"

namespace shardc::onnx {

class Branches final : public ControlFlow {
public:
  /// The error is the node's: a branch that is not there, or a condition that is
  /// none.
  static mlir::FailureOr<std::unique_ptr<ControlFlow>>
  of(const NodeContext &context);

  Body body() const override { return branches[taken]; }
  bool isDone() const override { return ended; }
  llvm::SmallVector<Operand> inputs(Emitter &) const override { return {}; }
  mlir::LogicalResult end(const NodeContext &context,
                          llvm::ArrayRef<Operand> outputs) override;
  mlir::FailureOr<llvm::SmallVector<Operand>>
  results(const NodeContext &context) const override;

private:
  /// By whether the condition holds.
  Body branches[2];
  bool taken = true, ended = false;
  /// A boolean [], where the run decides; empty where it is known.
  Operand condition;
  llvm::SmallVector<Operand> outputs[2];
};

} // namespace shardc::onnx

#endif
