// A run's numbers, with all defaults resolved.
#include "runtime/train/RunSettings.h"

#include "runtime/base/Error.h"
#include "runtime/checkpoint/Space.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/train/Draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardc::runtime {

/// The length of a sample's sequence: the second axis of the labels, or of the
/// first integer input; 0: there is none.
static int64_t sequenceLength(const plan::Plan &plan) {
  // Targets of a regression are no tokens, whatever their shape.
  if (const plan::Input *labels = labelsOf(plan);
      labels && labels->tensor().dtype() == plan::INT64 &&
      labels->tensor().shape_size() >= 2)
    return labels->tensor().shape(1);
  for (const plan::Input &input : plan.inputs())
    if (isGiven(input) && input.tensor().dtype() == plan::INT64 &&
        input.tensor().shape_size() >= 2)
      return input.tensor().shape(1);
  return 0;
}

bool drawsInitialValues(const Options &options, const plan::Plan &plan) {
  if (options.weights && !options.weightsMatch)
    return false;
  return options.init ? *options.init == Options::Init::Random
                      : plan.init() == "random";
}

static std::string initialValuesText(const Options &options,
                                     const plan::Plan &plan) {
  if (options.weights && !options.weightsMatch)
    return "from " + *options.weights;
  std::string rest = drawsInitialValues(options, plan)
                         ? concat("drawn, seed ", options.seed)
                         : "those of the compiled model";
  return options.weights
             ? concat("from ", *options.weights, " where names have ",
                      *options.weightsMatch, ", the rest ", rest)
             : rest;
}

bool isLossScaleDynamic(const LossScaleOptions &options,
                        const plan::Plan &plan) {
  return options.dynamic ||
         (!options.fixed && plan.precision().parameters() == plan::FLOAT16);
}

static LossScaling lossScalingOf(const LossScaleOptions &options,
                                 const plan::Plan &plan) {
  LossScaling scaling;
  if (!isLossScaleDynamic(options, plan)) {
    scaling.initial = static_cast<float>(options.fixed.value_or(1));
    if (scaling.initial != 1)
      scaling.kind = LossScaling::Kind::Fixed;
    return scaling;
  }
  scaling.kind = LossScaling::Kind::Dynamic;
  if (options.initial)
    scaling.initial = static_cast<float>(*options.initial);
  scaling.minimum = options.minimum
                        ? static_cast<float>(*options.minimum)
                        : std::min(scaling.minimum, scaling.initial);
  scaling.window = options.window.value_or(scaling.window);
  scaling.hysteresis = options.hysteresis.value_or(scaling.hysteresis);
  return scaling;
}

/// `steps`: of the run.
static Schedule resolveSchedule(const Options &options, int64_t steps) {
  using Kind = Schedule::Kind;
  const ScheduleOptions &given = options.schedule;
  Schedule schedule;
  schedule.kind = given.kind;
  schedule.peak = options.learningRate;
  schedule.minimum = given.minimumRatio
                         ? *given.minimumRatio * options.learningRate
                         : given.minimum;
  schedule.totalSteps = given.totalSteps.value_or(steps);
  schedule.warmupSteps =
      given.warmupRatio ? static_cast<int64_t>(std::ceil(
                              *given.warmupRatio * double(schedule.totalSteps)))
                        : given.warmupSteps;
  bool isStable = given.kind == Kind::WarmupStableDecay;
  // As in transformers, where the warm-up of this one begins at the minimum.
  schedule.warmupStartFactor = given.warmupStartFactor.value_or(
      isStable && schedule.peak > 0 ? schedule.minimum / schedule.peak : 0);
  schedule.warmupShape = given.warmupShape;
  schedule.power = given.power;
  schedule.cycles =
      given.cycles.value_or(given.kind == Kind::CosineWithRestarts ? 1 : 0.5);
  schedule.timescale = given.timescale.value_or(
      schedule.warmupSteps ? schedule.warmupSteps : 10000);
  schedule.decayShape = given.decayShape;
  schedule.decaySteps = given.decaySteps.value_or(0);
  schedule.stableSteps = given.stableSteps.value_or(
      schedule.totalSteps - schedule.warmupSteps - schedule.decaySteps);
  if (isStable && schedule.stableSteps < 0)
    fail(schedule.warmupSteps, " steps of warm-up and --decay-steps ",
         schedule.decaySteps, " are more than the ", schedule.totalSteps,
         " steps of the schedule; give fewer, or --stable-steps");
  return schedule;
}

int threadsPerRank(const Options &options, const DeviceTraits &device,
                   const World &world) {
  return static_cast<int>(std::min<int64_t>(
      options.threads.value_or(world.workersPerRank()),
      device.mostThreads.value_or(std::numeric_limits<int>::max())));
}

/// What to do about a batch that is larger than the data.
static std::string mostSamples(const RunSettings &settings, int64_t ranks) {
  const int64_t microBatches = settings.samples / (settings.batch * ranks);
  if (microBatches > 0)
    return concat("; give --grad-accumulation ", microBatches);
  const int64_t batch = settings.samples / ranks;
  return batch > 0 ? concat("; compile the model for a batch of ", batch,
                            " (shardc --dim batch=", batch, ")")
                   : "; give more samples, or compile for fewer ranks";
}

/// Samples of a rank, of a step and of an epoch. `samples` and `resumed` are
/// those of resolve(), here and below.
static void resolveBatch(RunSettings &settings, const Options &options,
                         const plan::Plan &plan, std::optional<int64_t> samples,
                         const Manifest *resumed) {
  int64_t ranks = plan.mesh().ranks();
  settings.batch = batchPerRank(plan);
  settings.microBatches = options.microBatches;
  int64_t atOnce = settings.batch * ranks;
  if (__builtin_mul_overflow(atOnce, settings.microBatches,
                             &settings.globalBatch))
    fail("--grad-accumulation ", settings.microBatches, " is too much");
  bool pads = options.order.shuffle && options.order.padsLast;
  // Without data, epochs are those of the run that was saved.
  settings.samples = samples ? *samples
                     : resumed && resumed->samples
                         ? std::max(resumed->samples, settings.globalBatch)
                         : settings.globalBatch;
  if (settings.samples < (pads ? 1 : settings.globalBatch))
    fail("--data has ", settings.samples,
         " samples, too few for one global batch of ", settings.globalBatch,
         " (", settings.batch, " on each of ", ranks,
         ranks == 1 ? " rank" : " ranks",
         settings.microBatches == 1
             ? ")"
             : concat(", in ", settings.microBatches, " micro-batches)"),
         mostSamples(settings, ranks));
}

/// What is drawn, and how the loss is scaled.
static void resolveDraws(RunSettings &settings, const Options &options,
                         const plan::Plan &plan, const Manifest *resumed) {
  settings.lossScaling = lossScalingOf(options.lossScale, plan);
  settings.dropoutRates = resolveDropoutRates(options, plan);
  settings.seed = options.seed;
  // A checkpoint of torch's has neither samples nor a seed.
  if (plan.has_draws() && resumed && resumed->samples &&
      resumed->order.seed != options.seed)
    fail("the run that was saved drew with --seed ", resumed->order.seed,
         ", and this one with --seed ", options.seed);
}

/// Where the run begins, and behind which step it ends.
static void resolveSteps(RunSettings &settings, const Options &options,
                         const Manifest *resumed) {
  SampleOrder order(settings.samples, settings.globalBatch, options.order);
  Progress &start = settings.start;
  // A checkpoint of torch's does not say which samples were taken: as many as
  // this run would have.
  if (resumed && !resumed->samples) {
    start.cursor = order.after(start.step);
    start.globalBatch = settings.globalBatch;
    start.lossScale = settings.lossScaling.initial;
    start.hysteresisLeft = settings.lossScaling.hysteresis;
  }
  int64_t epochs = options.epochs.value_or(1);
  if (options.steps)
    settings.steps = *options.steps;
  else if (__builtin_add_overflow(start.step,
                                  order.stepsUntil(epochs, start.cursor),
                                  &settings.steps) ||
           settings.steps == std::numeric_limits<int64_t>::max())
    fail("--epochs ", epochs, " are too many");
  // The last step of an epoch in order may have begun the next one.
  const Cursor &at = start.cursor;
  if (!options.steps &&
      (epochs < at.epoch ||
       (epochs == at.epoch && at.position >= settings.globalBatch)))
    fail("--epochs ", epochs,
         " end before the checkpoint that it goes on "
         "from, which is behind sample ",
         at.position, " of epoch ", at.epoch + 1,
         "; give more, or begin with --weights CHECKPOINT");
  start.globalBatch = settings.globalBatch;
  // Without any it evaluates, predicts and exports.
  if (settings.steps > 0 && settings.steps < start.step)
    fail(options.steps ? "--steps" : "--epochs", " ends this run after step ",
         settings.steps, ", counted from the first step of all, and the ",
         "checkpoint that it goes on from is of step ", start.step,
         "; give more, or begin with --weights CHECKPOINT");
}

static StepNumbers resolveNumbers(const Options &options,
                                  const plan::Plan &plan) {
  StepNumbers numbers;
  if (const Optimizer *optimizer = findOptimizer(plan.optimizer().kind())) {
    numbers.beta1 = options.beta1.value_or(optimizer->beta1.value_or(0));
    numbers.beta2 = options.beta2.value_or(optimizer->beta2.value_or(0));
    numbers.epsilon = options.epsilon.value_or(optimizer->epsilon.value_or(0));
    numbers.momentum =
        options.momentum.value_or(optimizer->momentum.value_or(0));
    numbers.nesterov =
        optimizer->takesMatrices() ? !options.noNesterov : options.nesterov;
  }
  numbers.clip = options.clip;
  numbers.clipNorm = options.clipNorm.value_or(Norm::Two);
  return numbers;
}

std::vector<std::string> RunSettings::scheduleTexts() const {
  std::vector<std::string> texts;
  if (steps <= start.step)
    return texts;
  const Schedule &s = schedule;
  if (s.warmupSteps >= std::max(steps, s.totalSteps))
    texts.push_back(concat("the warm-up of ", s.warmupSteps,
                           " steps does not end in the run's ", steps,
                           ": the learning rate stays below --lr"));
  else if (s.kind == Schedule::Kind::WarmupStableDecay && s.decaySteps > 0 &&
           s.warmupSteps + s.stableSteps >= steps)
    texts.push_back(concat("the decay of the learning rate would begin behind "
                           "step ",
                           s.warmupSteps + s.stableSteps, ", and the run has ",
                           steps, " steps"));
  if (s.peak > 0 && s.learningRate(steps - 1) == 0 && s.totalSteps < steps)
    texts.push_back(concat(
        "the learning rate is 0 behind step ", s.totalSteps, " of the run's ",
        steps, ": the schedule is of --total-steps ", s.totalSteps));
  if (!start.learningRate)
    return texts;
  double now = s.learningRate(start.step - 1,
                              start.plateau ? start.plateau->reduced : 1),
         before = *start.learningRate;
  if (std::abs(now - before) > 1e-9 * std::max(now, before))
    texts.push_back(concat("the last step of the run that was saved had a "
                           "learning rate of ",
                           numberText(before),
                           ", and by the flags of this one it is ",
                           numberText(now)));
  return texts;
}

RunSettings RunSettings::resolve(const Options &options, const plan::Plan &plan,
                                 const DeviceTraits &device,
                                 std::optional<int64_t> samples,
                                 const World &world, const Manifest *resumed) {
  RunSettings settings;
  if (resumed)
    settings.start = resumed->progress;
  resolveBatch(settings, options, plan, samples, resumed);
  resolveDraws(settings, options, plan, resumed);
  resolveSteps(settings, options, resumed);

  settings.schedule = resolveSchedule(options, settings.steps);
  settings.numbers = resolveNumbers(options, plan);
  settings.lossNorm = options.lossNorm;
  settings.gradientDivisor = options.gradientDivisor;
  settings.groups = ParameterGroups::resolve(options, plan);

  settings.ranksSharing = device.sharing(world.ranksPerProcess());
  settings.workers = threadsPerRank(options, device, world);
  // Nothing changes behind the save at the run's end.
  if (options.checkpointDir && !options.checkpointSync &&
      (options.checkpointEvery.isGiven() || options.keepBest))
    settings.checkpointCopyBytes = int64_t(copyBytes(plan));
  int64_t sequence = sequenceLength(plan);
  settings.unitsPerSample = std::max<int64_t>(sequence, 1);
  settings.unit = sequence ? "tokens" : "samples";
  settings.initialValues = initialValuesText(options, plan);
  settings.banner.device = device;
  settings.banner.reduce = options.reduce;
  settings.banner.tune = options.tune.value_or("");
  settings.banner.processes = world.text();
  return settings;
}

} // namespace shardc::runtime
