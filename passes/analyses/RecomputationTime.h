// What it takes to run ops of the forward pass again in the backward pass.
#ifndef SHARDC_PASSES_ANALYSES_RECOMPUTATIONTIME_H
#define SHARDC_PASSES_ANALYSES_RECOMPUTATIONTIME_H

#include "passes/analyses/CostModel.h"

#include "frontend/nn/NN.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace shardc {

/// Ops of generated code that run again.
using OpSet = llvm::SetVector<mlir::Operation *>;

/// Bytes of a tensor's elements.
int64_t bytesOf(mlir::Value value);
/// Bytes of one element of a tensor type; 1 for a bool.
int64_t elementBytesOf(mlir::Type type);

/// Estimates seconds of memory traffic, arithmetic and launches by the rates of
/// a machine. Ops that become one kernel are counted as one: what an
/// elementwise op hands to the only kernel that reads it (to each of them,
/// where it reads one tensor: nn-remat clones it for each) is not written, and
/// takes no launch of its own.
class RecomputationTime {
public:
  /// Estimates for `ops` that run again; those behind `lastForward` are the
  /// backward pass.
  RecomputationTime(const OpSet &ops, mlir::Operation *lastForward,
                    const CostModel &costs)
      : ops(ops), lastForward(lastForward), costs(costs) {}

  /// The time of one among them.
  double of(mlir::Operation *op);
  double ofAll();

private:
  /// Who reads what an op makes.
  struct Readers {
    int64_t again = 0;         // of `ops`
    int64_t backward = 0;      // generated code of the backward pass
    bool libraryCalls = false; // of the backward pass
  };
  const Readers &readersOf(mlir::Operation *op);
  bool isInlined(mlir::Operation *op);

  const OpSet &ops;
  mlir::Operation *lastForward;
  const CostModel &costs;
  llvm::DenseMap<mlir::Operation *, Readers> known;
};

} // namespace shardc

#endif
