// A program of a plan as a problem of scheduling, and back.
#ifndef SHARDC_CODEGEN_SCHEDULE_PROGRAMMOVES_H
#define SHARDC_CODEGEN_SCHEDULE_PROGRAMMOVES_H

#include "codegen/schedule/ListSchedule.h"
#include "codegen/timeline/ReadProgram.h"

namespace shardc::schedule {

/// Entries stay in their order, but for the starts of gathers and the waits of
/// units' reductions. A start stays behind what writes what it reads and, where
/// a unit is gathered twice, behind the last use of the first time; starts of
/// gathers keep their order among each other, so that every rank of a group has
/// one order. A wait stays before whatever touches what its collective touches;
/// what goes on with a reduction over another dimension follows its wait.
class ProgramMoves {
public:
  ProgramMoves(step::ProgramOp program, const CostModel &costs);

  Problem problem; // without a limit
  llvm::ArrayRef<step::AllGatherStartOp> starts() const { return gathers; }
  /// Moves entries as the schedule says. Of a gather that is held for, start
  /// and wait are erased, and what it would have brought is the earlier one's.
  void apply(const Schedule &schedule);

private:
  void collect(const timeline::TimedProgram &timed);
  void addGather(step::AllGatherStartOp start, size_t collective);
  void addReduction(mlir::Operation *start, step::WaitOp wait,
                    size_t collective);
  /// Notes of starts which reduction's result they go on with.
  void findNext(const timeline::TimedProgram &timed);
  void addBuffers();
  /// Erases a gather; what it would have brought is in `held`.
  void replace(step::AllGatherStartOp start, mlir::Value held);

  step::ProgramOp program;
  std::vector<mlir::Operation *> entries;      // one per step of the problem
  std::vector<step::AllGatherStartOp> gathers; // one per gather
  std::vector<step::WaitOp> waits;             // one per reduction
  /// Of the wait of a reduction: what goes on with its result, and of such a
  /// start the start of the reduction.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> nextOf, startBefore;
  llvm::DenseMap<mlir::Operation *, size_t> placeOf; // of entries
  llvm::DenseMap<mlir::Operation *, size_t> bufferIndex;
};

} // namespace shardc::schedule

#endif
