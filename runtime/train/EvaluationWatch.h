// What evaluations decide: which of them is the best, when a run has seen
// enough, and whether the learning rate falls.
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
  EvaluationWatch(const Options &options, const Schedule &schedule,
                  const Progress &start);

  /// The best evaluation of an earlier run that there is no checkpoint of any
  /// more is none to keep.
  void forgetBest() {
    best.reset();
    stop.clear();
  }
  /// To be called behind each evaluation. Whether it is the best so far, and a
  /// checkpoint of it is wanted. The learning rate goes by those that are due: a
  /// run that ends early has one more, and goes on as if it had not ended.
  bool take(int64_t stepsDone, const EvaluationResult &result, bool isDue);
  /// Without evaluations: behind each step.
  void takeStep(double loss);

  /// Of a step from 0 on, as evaluations have left it.
  double learningRate(int64_t step) const {
    return schedule.learningRate(step, plateau ? plateau->state().reduced : 1);
  }
  /// What the last evaluation has reduced it to; empty: it has not.
  const std::string &reducedText() const { return reduced; }

  /// Why the run is to end; empty: it goes on.
  const std::string &stopText() const { return stop; }
  const std::optional<BestEvaluation> &bestSoFar() const { return best; }
  /// Into what a checkpoint says.
  void tell(Progress &progress) const;

private:
  void reduceOnPlateau(int64_t stepsDone, double value);
  void stopEarly();
  void stopBelow(double loss, const char *what);

  const Options &options;
  const Schedule &schedule;
  BestBy by;
  std::optional<Plateau> plateau;
  std::optional<BestEvaluation> best;
  int64_t sinceBest = 0;
  std::optional<int64_t> evaluated;
  std::string stop, reduced;
};

} // namespace shardc::runtime

#endif
