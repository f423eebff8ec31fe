// Flags that contradict each other, or the plan.
#include "runtime/cli/CheckOptions.h"

#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/ParameterGroups.h"
#include "runtime/RunSettings.h"
#include "runtime/metrics/Console.h"

namespace shardc::runtime {

/// Those that only a dynamic loss scale has.
static const char *const dynamicFlags[] = {
    "--loss-scale-initial", "--loss-scale-window", "--loss-scale-hysteresis",
    "--loss-scale-min"};

void cli::checkCombinations(const Options &options,
                            const std::function<bool(const char *)> &given) {
  if (given("--steps") && given("--epochs"))
    fail("--steps and --epochs exclude each other");
  if (options.init && options.weights)
    fail("--init and --weights exclude each other: both say where initial "
         "values come from");
  if (given("--warmup-start-factor") && !given("--warmup-steps"))
    fail("--warmup-start-factor has no effect without --warmup-steps");
  if (options.minLearningRate > 0 &&
      options.schedule == Schedule::Kind::Constant)
    fail("--min-lr has no effect with --schedule constant; use linear or "
         "cosine");
  if (options.minLearningRate > options.learningRate)
    fail("--min-lr ", options.minLearningRate, " is above --lr ",
         options.learningRate);
  if (given("--eval-every") && options.evalData.empty())
    fail("--eval-every needs --eval-data");
  if (given("--trace-steps") && !options.trace)
    fail("--trace-steps has no effect without --trace");
  if (options.nesterov && options.momentum.value_or(0) == 0)
    fail("--nesterov needs --momentum");
  if (options.clipNorm && options.clip == 0)
    fail("--clip-norm has no effect without --clip");
  const LossScaleOptions &scale = options.lossScale;
  if (scale.fixed)
    for (const char *flag : dynamicFlags)
      if (given(flag))
        fail(flag, " has no effect with --loss-scale ",
             numberText(*scale.fixed),
             ", which is fixed; use --loss-scale dynamic");
  double initial = scale.initial.value_or(LossScaling().initial);
  if (scale.minimum && *scale.minimum > initial)
    fail("--loss-scale-min ", numberText(*scale.minimum),
         " is above --loss-scale-initial ", numberText(initial));
  const std::optional<std::string> *outputs[] = {
      &options.metrics, &options.trace, &options.exportGradients,
      &options.exportSafetensors, &options.exportOnnx};
  for (auto *first : outputs)
    for (auto *second : outputs)
      if (first < second && *first && *first == *second)
        fail("two outputs would be written to ", **first);
}

static void checkLossScale(const LossScaleOptions &scale,
                           const plan::Plan &plan) {
  if (isLossScaleDynamic(scale, plan))
    return;
  const bool given[] = {scale.initial.has_value(), scale.window.has_value(),
                        scale.hysteresis.has_value(),
                        scale.minimum.has_value()};
  for (size_t i = 0; i < std::size(given); ++i)
    if (given[i])
      fail(dynamicFlags[i], " has no effect: this trainer computes in ",
           dtypeName(plan.precision().parameters()),
           ", whose loss is not scaled; give --loss-scale dynamic");
}

void checkOptions(const Options &options, const plan::Plan &plan) {
  const std::string &kind = plan.optimizer().kind();
  bool adam = kind == "adam" || kind == "adamw";
  auto refuse = [&](const char *flag, const char *owner) {
    fail(flag, " is a number of ", owner,
         ", and this trainer was compiled for ", kind,
         "; compile it with shardc --optimizer ", owner);
  };
  if (options.beta1 && !adam)
    refuse("--betas", "adamw");
  if (options.epsilon && !adam)
    refuse("--eps", "adamw");
  if (options.momentum && kind != "sgd")
    refuse("--momentum", "sgd");
  if (options.nesterov && kind != "sgd")
    refuse("--nesterov", "sgd");
  if (options.momentum.value_or(0) > 0 && plan.optimizer().states().empty())
    fail("--momentum needs a momentum buffer, and this trainer was compiled "
         "without one");
  if (options.threads && plan.workers() > 0 &&
      *options.threads > plan.workers())
    fail("--threads ", *options.threads, " is more than the ", plan.workers(),
         plan.workers() == 1 ? " thread" : " threads",
         " that this trainer was compiled for (shardc --threads-per-rank)");
  if (!options.noDecay.empty() && weightDecayOf(options, plan) == 0)
    fail("--no-decay has no effect: the weight decay is 0; give "
         "--weight-decay");
  checkLossScale(options.lossScale, plan);
}

} // namespace shardc::runtime
