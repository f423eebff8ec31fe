// What evaluations decide.
#include "runtime/train/EvaluationWatch.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

namespace shardc::runtime {

static bool isByAccuracy(const Options &options) {
  return options.keepBest == BestBy::Accuracy;
}

static const char *metricName(const Options &options) {
  return isByAccuracy(options) ? "accuracy" : "eval_loss";
}

EvaluationWatch::EvaluationWatch(const Options &options, const Progress &start)
    : options(options), evaluated(start.evaluatedStep) {
  // Values of another metric say nothing.
  if (start.best && start.best->metric == metricName(options)) {
    best = start.best;
    sinceBest = start.evaluationsSinceBest;
    stopEarly();
  }
}

bool EvaluationWatch::take(int64_t stepsDone, const EvaluationResult &result) {
  // A run that goes on where the earlier one ended evaluates anew.
  bool isRepeated = evaluated == stepsDone;
  evaluated = stepsDone;
  stopBelow(result.loss, "evaluation");
  if (isRepeated || (!options.keepBest && !options.earlyStop))
    return false;
  bool isMore = isByAccuracy(options);
  double value = isMore ? result.accuracy.value_or(0) : result.loss;
  if (!best || (isMore ? value > best->value : value < best->value)) {
    best = {metricName(options), value, stepsDone};
    sinceBest = 0;
    return options.keepBest.has_value();
  }
  ++sinceBest;
  stopEarly();
  return false;
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
}

} // namespace shardc::runtime
