// Nodes that have bodies: If, Loop and Scan. What they do is known when a model
// is imported: one branch of an If stands for it, and the body of a loop for
// each of its iterations.
#ifndef SHARDC_FRONTEND_ONNX_CONTROLFLOW_H
#define SHARDC_FRONTEND_ONNX_CONTROLFLOW_H

#include "frontend/onnx/Decoder.h"

#include <optional>
#include <utility>

namespace shardc::onnx {

/// The body that a node goes into, and which of its bodies that is (as
/// ImportedModel::bodies counts them). The error is the node's: a condition that
/// is not known, or a body that is not there.
mlir::FailureOr<std::pair<const ::onnx::GraphProto *, int>>
bodyOf(const NodeContext &context);

/// The iterations of a Loop or a Scan.
class Iterations {
public:
  /// Each is a copy of the body.
  static constexpr int64_t most = 4096;

  /// Begins with the first one; nothing for a node that has none. Errors are the
  /// node's.
  static mlir::FailureOr<std::optional<Iterations>>
  of(const NodeContext &context, const ::onnx::GraphProto &body);

  /// Whether no iteration is left.
  bool isDone() const { return !goesOn || (count && iteration >= *count); }
  /// What the body's inputs are in the next iteration.
  llvm::SmallVector<Operand> inputs(Emitter &emit) const;
  /// Ends an iteration with its body's outputs.
  mlir::LogicalResult end(const NodeContext &context,
                          llvm::ArrayRef<Operand> outputs);
  /// What the node's outputs are when all is done. One that is not named may be
  /// empty.
  mlir::FailureOr<llvm::SmallVector<Operand>>
  results(const NodeContext &context) const;

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
  mlir::LogicalResult beginLoop(const NodeContext &context,
                                const ::onnx::GraphProto &body);
  mlir::LogicalResult beginScan(const NodeContext &context,
                                const ::onnx::GraphProto &body);

  bool isLoop = false;
  std::optional<int64_t> count; // none: until the condition is false
  bool goesOn = true;
  int64_t iteration = 0;
  llvm::SmallVector<Operand> carried;
  std::vector<Taken> taken;
  std::vector<Stacked> stacked;
};

} // namespace shardc::onnx

#endif
