// The graph of ops that may run again, of a function.
#ifndef SHARDC_PASSES_ANALYSES_RECOMPUTATIONCUT_H
#define SHARDC_PASSES_ANALYSES_RECOMPUTATIONCUT_H

#include "passes/analyses/RecomputationGraph.h"
#include "passes/analyses/RecomputationTime.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace shardc {

/// A unit that backward gathers only if something that reads its parameters
/// runs again.
struct ExtraGather {
  double seconds = 0;
  llvm::SmallVector<mlir::Operation *> readers;
};

/// Ops that may run again and the values between them. It is built once, and
/// cut at many prices.
class RecomputationCut {
public:
  /// What it is built from.
  struct Input {
    const OpSet &candidates;                      // from the last to the first
    llvm::ArrayRef<mlir::Value> needed;           // what backward reads
    llvm::function_ref<bool(mlir::Value)> isFree; // there in any case
    /// Never in memory: part of what its reader computes.
    llvm::function_ref<bool(mlir::Value)> isInside;
    llvm::ArrayRef<ExtraGather> gathers;
  };
  RecomputationCut(const Input &input, RecomputationTime time);

  /// The candidates that are better run again, once for all that reads them,
  /// than their results kept, when a second costs `bytesPerSecond`.
  llvm::DenseSet<mlir::Operation *> at(double bytesPerSecond);
  /// Those that leave the fewest bytes within a time; those that leave at most
  /// some bytes in the least time, nothing where none do.
  llvm::DenseSet<mlir::Operation *> within(double seconds) const;
  std::optional<llvm::DenseSet<mlir::Operation *>> downTo(int64_t bytes) const;
  /// The fewest bytes that any choice leaves.
  int64_t fewestBytes() const;

private:
  int64_t valueOf(mlir::Value value, const Input &input);
  llvm::DenseSet<mlir::Operation *> opsOf(const std::vector<bool> &again) const;

  RecomputationGraph graph;
  std::vector<mlir::Operation *> ops; // of the graph's; null: a gather
  llvm::DenseMap<mlir::Value, int64_t> values;
  std::optional<RecomputationNetwork> network; // made with the first price
};

} // namespace shardc

#endif
