// What the last reduction of a step does not need, computed behind its start.
#ifndef SHARDC_CODEGEN_SCHEDULE_DEFERRAL_H
#define SHARDC_CODEGEN_SCHEDULE_DEFERRAL_H

#include "codegen/timeline/ReadProgram.h"

namespace shardc::schedule {

/// The reduction of the unit whose gradients are ready last, an embedding's as
/// a rule, has nothing behind it to hide it. Its gradients follow from those of
/// activations; those of weights of the units before it can be computed behind
/// its start, in their order. An entry stays where it is if one that stays and
/// follows it reads or overwrites what it writes, or writes what it reads; so do
/// gathers, their waits, and updates in backward.
class Deferral {
public:
  /// Looks back from that reduction until what is deferred takes `times` its
  /// seconds, or to the beginning of backward.
  Deferral(step::ProgramOp program, const CostModel &costs, double times);

  bool isEmpty() const { return deferred.empty(); }
  void apply();
  /// Puts every op where it was before apply().
  void undo();

private:
  step::ProgramOp program;
  mlir::Operation *last = nullptr;         // the reduction's start
  std::vector<mlir::Operation *> deferred; // in their order
  std::vector<mlir::Operation *> before;   // all ops, as they were
};

} // namespace shardc::schedule

#endif
