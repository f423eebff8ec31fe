// What evaluations decide: which of them is the best, and when a run has seen
// enough.
#ifndef SHARDC_RUNTIME_TRAIN_EVALUATIONWATCH_H
#define SHARDC_RUNTIME_TRAIN_EVALUATIONWATCH_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/Options.h"

#include <optional>
#include <string>

namespace shardc::runtime {

/// The same on all ranks, as results of evaluations are.
class EvaluationWatch {
public:
  /// `start`: of the run that this one goes on with, which may have seen enough.
  EvaluationWatch(const Options &options, const Progress &start);

  /// The best evaluation of an earlier run that there is no checkpoint of any
  /// more is none to keep.
  void forgetBest() {
    best.reset();
    stop.clear();
  }
  /// To be called behind each evaluation. Whether it is the best so far, and a
  /// checkpoint of it is wanted.
  bool take(int64_t stepsDone, const EvaluationResult &result);
  /// Without evaluations: behind each step.
  void takeStep(double loss);

  /// Why the run is to end; empty: it goes on.
  const std::string &stopText() const { return stop; }
  const std::optional<BestEvaluation> &bestSoFar() const { return best; }
  /// Into what a checkpoint says.
  void tell(Progress &progress) const;

private:
  void stopEarly();
  void stopBelow(double loss, const char *what);

  const Options &options;
  BestBy by;
  std::optional<BestEvaluation> best;
  int64_t sinceBest = 0;
  std::optional<int64_t> evaluated;
  std::string stop;
};

} // namespace shardc::runtime

#endif
