// Inputs are opened in the order in which their errors are looked for.
#include "runtime/train/RunInputs.h"

#include "runtime/base/Error.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/OpenCheckpoints.h"
#include "runtime/train/RunSettings.h"

namespace shardc::runtime {

/// Drawn values stand for samples that nothing is trained on.
static std::vector<NamedFile> filesOf(const Options &options) {
  return readsData(options) ? options.data
                            : std::vector<NamedFile>{{"", "", {}, 0}};
}

/// Predictions alone need no labels.
static void checkLabelsAreGiven(const Options &options, const plan::Plan &plan,
                                const Dataset &data) {
  const char *flag = options.evalEvery.isGiven() ? "--eval-every"
                     : options.expectLossBelow   ? "--expect-loss-below"
                     : options.evalCommand       ? "--eval-command"
                                                 : nullptr;
  if (flag && data.lacksLabels())
    fail(flag, " needs labels; give --eval-data ", labelsOf(plan)->name(),
         "=FILE.npy");
}

RunInputs::RunInputs(const World &world, const Options &options,
                     const plan::Plan &plan, const EmbeddedWeights &embedded)
    : data(plan, filesOf(options), "--data", options.dataLimit) {
  if (readsData(options)) {
    samples = data.samples();
    data.checkLabels("--data");
  }
  if (!options.evalData.empty()) {
    evalData.emplace(plan, options.evalData, "--eval-data", options.evalLimit,
                     /*mayLackLabels=*/!options.predictions.empty());
    Evaluation::check(plan, *evalData);
    checkLabelsAreGiven(options, plan, *evalData);
  }
  lock = lockCheckpoints(world, options);
  resumed = findCheckpoint(options.resume, options.checkpointDir);
  if (resumed.checkpoint) {
    resumed.checkpoint->check(plan);
    checkWeightsAreRead(options, plan, *resumed.checkpoint);
    // What torch wrote says nothing of samples.
    if (samples && manifest()->samples)
      met = ResumedData::of(options, data, *manifest());
    if (met.isNew)
      begun = withNewData(*manifest(), options, data);
  }
  values = openInitialValues(options, plan, embedded, resumed.checkpoint.get());
}

const ParameterSource &RunInputs::initialValues(const plan::Plan &plan) {
  if (!resumed.checkpoint)
    return values.source();
  goneOnFrom = resumed.checkpoint->parameters(plan, values.source());
  return *goneOnFrom;
}

} // namespace shardc::runtime
