// The iterations of a Loop or a Scan, one by one: how many there are is known when
// a model is imported, or the most that there may be.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_ITERATIONS_H
#define SHARDC_FRONTEND_ONNX_DECODE_ITERATIONS_H

#include "frontend/onnx/decode/ControlFlow.h"

#include <optional>

namespace shardc::onnx {

class Iterations final : public ControlFlow {
public:
  /// Each is a copy of the body.
  static constexpr int64_t most = 4096;

  /// Errors are the node's.
  static mlir::FailureOr<std::unique_ptr<ControlFlow>>
  of(const NodeContext &context);

  Body body() const override { return {graph}; }
  bool isDone() const override {
    return !goesOn || (count && iteration >= *count);
  }
  llvm::SmallVector<Operand> inputs(Emitter &emit) const override;
  mlir::LogicalResult end(const NodeContext &context,
                          llvm::ArrayRef<Operand> outputs) override;
  mlir::FailureOr<llvm::SmallVector<Operand>>
  results(const NodeContext &context) const override;

private:
  /// What a Scan takes a piece of in each iteration.
  struct Taken {
    Operand whole;
    int64_t axis;
    bool isReverse;
  };
  /// What each iteration adds a piece to.
  struct Stacked {
    int64_t axis = 0;
    bool isReverse = false;
    std::vector<Operand> pieces = {};
  };
  mlir::LogicalResult beginLoop(const NodeContext &context);
  mlir::LogicalResult beginScan(const NodeContext &context);

  const ::onnx::GraphProto *graph = nullptr;
  bool isLoop = false;
  std::optional<int64_t> count; // none: until the condition is false
  bool goesOn = true;
  /// Whether it still does where the run decides that, a boolean []: from then on
  /// an iteration that would not run changes nothing.
  Operand runs;
  int64_t iteration = 0;
  llvm::SmallVector<Operand> carried;
  std::vector<Taken> taken;
  std::vector<Stacked> stacked;
};

} // namespace shardc::onnx

#endif
