// Master weights, optimizer state and parameters in the pool host: a part at a
// time comes, is updated, and goes.
#ifndef SHARDC_CODEGEN_OFFLOAD_OPTIMIZERSTAGING_H
#define SHARDC_CODEGEN_OFFLOAD_OPTIMIZERSTAGING_H

#include "codegen/offload/HostLink.h"
#include "codegen/offload/TimedEntries.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::offload {

class OptimizerStaging {
public:
  /// `partBytes` are updated at once; where units are updated in backward, whose
  /// entries are short, at least as many as move in two milliseconds.
  OptimizerStaging(step::PlanOp plan, step::ProgramOp program,
                   const Cluster &cluster, HostLink &link, int64_t partBytes);

  /// What has to leave for a rank to have `saved` bytes more room, or all that
  /// there is; 0 where whole matrices or split masters stay.
  int64_t bytesToSave(int64_t saved);
  /// At most `mostBytes` leave: units in the order of their updates, as the last
  /// ones' have the least behind them that hides their transfers. Parameters that
  /// lie in the pool host come with them, or by themselves. Emits an error where a
  /// unit's state cannot leave.
  mlir::LogicalResult run(int64_t mostBytes);

private:
  /// What a unit has in the pool host.
  struct Kept {
    mlir::Value buffer;
    mlir::Type type; // of its elements
  };
  /// Elements of a unit's slice that are updated at once.
  struct Part {
    step::OptimizerStepOp step;
    int64_t begin = 0, elements = 0;
    /// A master, states, and parameters, of what is there.
    llvm::SmallVector<Kept> host;
    bool hasMaster = false, hasParameters = false;
    llvm::SmallVector<mlir::Value> staged;        // views
    llvm::SmallVector<mlir::Value> loads, stores; // tokens

    int64_t elementBytes() const; // of all of host
    int64_t bytes() const { return elements * elementBytes(); }
  };

  /// Buffers of a unit's master weights and states.
  llvm::SmallVector<mlir::Value> stateOf(step::OptimizerStepOp step);
  mlir::LogicalResult addParts(step::OptimizerStepOp step, int64_t &mostBytes);
  /// The entry from which on the first parts may come: what the optimizer waits
  /// for hides them, or backward where units are updated in it.
  size_t beginOfOptimizer(const TimedEntries &entries) const;
  /// Says when parts come, are updated and go: a part comes when the one
  /// `depth` before it has gone, and is updated behind the first entry at which
  /// it can be. What backward computes in between hides transfers; where it is
  /// faster than they are it waits, or gradients would pile up.
  void place(TimedEntries &entries, Insertions &insertions);
  void load(mlir::OpBuilder &builder, Part &part);
  void update(mlir::OpBuilder &builder, Part &part);

  step::ProgramOp program;
  const Cluster &cluster;
  HostLink &link;
  int64_t partBytes;
  mlir::SymbolTable units;
  llvm::StringMap<step::StorageOp> storageOf;
  llvm::SmallVector<step::OptimizerStepOp> steps;
  std::vector<Part> parts;
};

} // namespace shardc::offload

#endif
