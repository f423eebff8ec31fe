// What evaluations decide.
#include "runtime/train/EvaluationWatch.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

namespace shardc::runtime {

EvaluationWatch::EvaluationWatch(const Options &options,
                                 const Schedule &schedule,
                                 const Progress &start)
    : options(options), schedule(schedule),
      by(options.keepBest.value_or(BestBy())), evaluated(start.evaluatedStep) {
  if (schedule.kind == Schedule::Kind::ReduceOnPlateau)
    plateau.emplace(options.schedule.plateau, by.isLess,
                    start.plateau.value_or(PlateauState()));
  // Values of another metric say nothing.
  if (start.best && start.best->metric == by.metric) {
    best = start.best;
    sinceBest = start.evaluationsSinceBest;
    stopEarly();
  }
}

bool EvaluationWatch::take(int64_t stepsDone, const EvaluationResult &result,
                           bool isDue) {
  // A run that goes on where the earlier one ended evaluates anew.
  bool isRepeated = evaluated == stepsDone;
  evaluated = stepsDone;
  reduced.clear();
  stopBelow(result.loss, "evaluation");
  if (isRepeated || (!options.keepBest && !options.earlyStop && !plateau))
    return false;
  std::optional<double> value =
      by.isLoss() ? result.loss : result.find(by.metric);
  if (!value) // --eval-command did not give it, and a warning said so
    return false;
  if (plateau && isDue && stepsDone > 0)
    reduceOnPlateau(stepsDone, *value);
  if (!best || (by.isLess ? *value < best->value : *value > best->value)) {
    best = {by.metric, *value, stepsDone};
    sinceBest = 0;
    return options.keepBest.has_value();
  }
  ++sinceBest;
  stopEarly();
  return false;
}

void EvaluationWatch::reduceOnPlateau(int64_t stepsDone, double value) {
  if (plateau->take(value, schedule.peak, schedule.minimum))
    reduced = concat("the learning rate falls to ",
                     numberText(learningRate(stepsDone)), " behind step ",
                     stepsDone, ": ", by.metric, " is ", numberText(value),
                     ", and was best at ", numberText(*plateau->state().best));
}

void EvaluationWatch::stopEarly() {
  if (options.earlyStop && sinceBest >= *options.earlyStop)
    stop = concat("--early-stop: ", best->metric, " was best after step ",
                  best->step, " (", numberText(best->value), "), ", sinceBest,
                  sinceBest == 1 ? " evaluation" : " evaluations", " ago");
}

void EvaluationWatch::takeStep(double loss) { stopBelow(loss, "step"); }

void EvaluationWatch::stopBelow(double loss, const char *what) {
  if (options.stopBelow && loss < *options.stopBelow)
    stop =
        concat("--stop-below: the loss of the ", what, ", ", numberText(loss),
               ", is below ", numberText(*options.stopBelow));
}

void EvaluationWatch::tell(Progress &progress) const {
  progress.best = best;
  progress.evaluationsSinceBest = sinceBest;
  progress.evaluatedStep = evaluated;
  if (plateau)
    progress.plateau = plateau->state();
}

} // namespace shardc::runtime
