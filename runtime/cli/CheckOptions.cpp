// Flags that contradict each other, or the plan.
#include "runtime/cli/CheckOptions.h"

#include "runtime/base/DType.h"
#include "runtime/base/EntryKind.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/cli/ScheduleFlags.h"
#include "runtime/device/Optimizers.h"
#include "runtime/flags/Given.h"
#include "runtime/train/Draws.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/MemoryPlan.h"
#include "runtime/train/ParameterGroups.h"
#include "runtime/train/Prediction.h"
#include "runtime/train/RunSettings.h"

#include <algorithm>
#include <vector>

namespace shardc::runtime {

/// Those that only a dynamic loss scale has.
static const char *const dynamicFlags[] = {
    "--loss-scale-initial", "--loss-scale-window", "--loss-scale-hysteresis",
    "--loss-scale-min"};

void cli::checkCombinations(const Options &options) {
  auto given = [&](const char *flag) { return options.given.contains(flag); };
  if (given("--steps") && given("--epochs"))
    fail("--steps and --epochs exclude each other");
  if (options.init && options.weights && !options.weightsMatch)
    fail("--init and --weights exclude each other: both say where initial "
         "values come from; with --weights-match --init says it of the rest");
  checkSchedule(options);

  bool hasSteps = options.steps.value_or(1) > 0;
  const char *noSteps = " with --steps 0";
  std::vector<cli::Effect> effects = {
      {"--data-limit", !options.data.empty(), " without --data"},
      {"--weights-match", options.weights.has_value(), " without --weights"},
      {"--last-batch", options.order.shuffle,
       " without --shuffle or --sampler: behind the last sample comes the "
       "first"},
      {"--eval-every", !options.evalData.empty(), " without --eval-data"},
      {"--checkpoint-every", options.checkpointDir.has_value(),
       " without --checkpoint-dir"},
      {"--checkpoint-sync", options.checkpointDir.has_value(),
       " without --checkpoint-dir"},
      {"--checkpoint-keep", options.checkpointDir.has_value(),
       " without --checkpoint-dir"},
      {"--new-data", options.resume.value_or("none") != "none",
       " without --resume"},
      {"--new-data", !options.data.empty(), " without --data"},
      {"--predict", !options.evalData.empty(), " without --eval-data"},
      {"--keep-best", options.checkpointDir.has_value(),
       " without --checkpoint-dir"},
      {"--keep-best", options.evalEvery.isGiven(), " without --eval-every"},
      {"--export-best", options.keepBest.has_value(), " without --keep-best"},
      {"--export-best",
       options.exportOnnx || options.exportSafetensors ||
           !options.predictions.empty(),
       " without --export-onnx, --export-safetensors or --predict"},
      {"--early-stop", options.evalEvery.isGiven(), " without --eval-every"},
      {"--stop-below", options.evalData.empty() || options.evalEvery.isGiven(),
       " without --eval-every: there is one evaluation, in the end"},
      {"--stop-below", hasSteps, noSteps},
      {"--expect-loss-below", hasSteps || !options.evalData.empty(),
       concat(noSteps, " and no --eval-data: there is no loss")},
      {"--export-match", options.exportSafetensors.has_value(),
       " without --export-safetensors"},
      {"--export-dtype", options.exportSafetensors.has_value(),
       " without --export-safetensors"},
      {"--eval-command", !options.evalData.empty(), " without --eval-data"},
      {"--eval-command", !options.predictions.empty(),
       " without --predict, whose outputs it gets"},
      {"--eval-limit", !options.evalData.empty(), " without --eval-data"},
      {"--peak-tflops", options.metrics.has_value(), " without --metrics"},
      {"--trace-steps", options.trace.has_value(), " without --trace"},
      {"--nesterov", options.momentum.value_or(0) > 0, " without --momentum"},
      {"--clip-norm", options.clip > 0, " without --clip"},
      {"--export-gradients", hasSteps, noSteps},
      {"--log-samples", hasSteps, noSteps},
      {"--trace", hasSteps, noSteps},
      {"--profile", hasSteps, noSteps},
      {"--cuda-graph", !options.cudaGraph || !options.profile,
       " with --profile, which times each launch by itself"},
      {"--cuda-graph", !options.cudaGraph || !options.checkFinite,
       " with --check-finite, which looks behind each launch"},
      {"--cuda-graph", !options.cudaGraph || !options.hashEntries,
       " with --hash-entries, which looks behind each launch"},
      {"--hash-entries", hasSteps, noSteps},
      {"--check", hasSteps, noSteps},
      {"--hash-steps", options.hashEntries.has_value(),
       " without --hash-entries"}};
  const LossScaleOptions &scale = options.lossScale;
  if (scale.fixed)
    for (const char *flag : dynamicFlags)
      effects.push_back({flag, false,
                         concat(" with --loss-scale ", numberText(*scale.fixed),
                                ", which is fixed; use --loss-scale dynamic")});
  if (options.report && options.data.empty() && !options.dryRun)
    for (const char *flag :
         {"--log-format", "--metrics", "--log-samples", "--tensorboard",
          "--prometheus", "--html", "--trace", "--profile",
          "--export-gradients", "--export-safetensors", "--export-onnx",
          "--predict", "--tune", "--hash-entries", "--check"})
      effects.push_back(
          {flag, false,
           " with --report and no --data: the report is printed, and nothing "
           "is trained"});
  cli::refuseIdle(options.given, effects);
  if ((options.resume == "auto" || options.resume == "none") &&
      !options.checkpointDir)
    fail("--resume ", *options.resume,
         " needs --checkpoint-dir, whose checkpoints it speaks of");

  double initial = scale.initial.value_or(LossScaling().initial);
  if (scale.minimum && *scale.minimum > initial)
    fail("--loss-scale-min ", numberText(*scale.minimum),
         " is above --loss-scale-initial ", numberText(initial));
}

static void checkLossScale(const Options &options, const plan::Plan &plan) {
  if (isLossScaleDynamic(options.lossScale, plan))
    return;
  std::vector<cli::Effect> effects;
  for (const char *flag : dynamicFlags)
    effects.push_back(
        {flag, false,
         concat(": this trainer computes in ",
                dtypeName(plan.precision().parameters()),
                ", whose loss is not scaled; give --loss-scale dynamic")});
  cli::refuseIdle(options.given, effects);
}

static bool hasAttention(const plan::Plan &plan) {
  return std::ranges::any_of(
      plan.train().entries(),
      [](const plan::Entry &entry) { return entry.has_attention(); });
}

/// Refuses what needs all gradients of a step at once.
static void checkUpdate(const Options &options, const plan::Plan &plan) {
  if (!updatesInBackward(plan.train()))
    return;
  for (const char *flag : {"--clip", "--export-gradients", "--loss-scale"})
    if (options.given.contains(flag) &&
        (flag != std::string_view("--clip") || options.clip > 0))
      fail(cli::placeOf(options.given, flag), flag,
           ": this trainer updates each unit in backward, when the gradients "
           "of others are not there yet; compile it with shardc --update step");
}

void checkOptions(const Options &options, const plan::Plan &plan,
                  const DeviceTraits &device) {
  checkUpdate(options, plan);
  const Optimizer *own = findOptimizer(plan.optimizer().kind());
  auto belongs = [&](const char *flag,
                     std::optional<double> Optimizer::*number) {
    if (!options.given.contains(flag) || (own && own->*number))
      return;
    auto has = [&](const Optimizer &other) {
      return (other.*number).has_value();
    };
    fail(cli::placeOf(options.given, flag), flag, " is a number of ",
         optimizerNames(has, " and "), ", and this trainer was compiled for ",
         plan.optimizer().kind(), "; compile it with shardc --optimizer ",
         std::ranges::find_if(optimizers, has)->name);
  };
  belongs("--betas", &Optimizer::beta1);
  belongs("--eps", &Optimizer::epsilon);
  belongs("--momentum", &Optimizer::momentum);
  belongs("--nesterov", &Optimizer::momentum);
  bool takesMatrices = own && own->takesMatrices();
  bool hasMomentum =
      own && options.momentum.value_or(own->momentum.value_or(0)) > 0;
  std::string notMuon = concat(": it is muon's, and this trainer was compiled "
                               "for ",
                               plan.optimizer().kind());
  cli::refuseIdle(options.given,
                  {{"--nesterov", !takesMatrices,
                    ": muon has Nesterov's momentum unless --no-nesterov says "
                    "otherwise"},
                   {"--no-nesterov", takesMatrices, notMuon},
                   {"--no-nesterov", hasMomentum, " with --momentum 0"},
                   {"--adjust-lr", takesMatrices, notMuon}});
  if (options.threads && device.mostThreads &&
      *options.threads > *device.mostThreads)
    fail("--threads ", *options.threads, " is more than the ",
         *device.mostThreads, *device.mostThreads == 1 ? " thread" : " threads",
         " that this trainer was compiled for (shardc --threads-per-rank)");
  std::string notCuda = concat(": this trainer runs on ", plan.target().name(),
                               ", not on NVIDIA GPUs (--device cuda)");
  const char *noDropout = ": this trainer drops nothing; export the model in "
                          "train mode, with dropout";
  bool isOffloaded = MemoryPlan::of(plan, 1, 1).host > 0;
  bool isInFile = isOffloaded && device.offloadsToFile;
  cli::refuseIdle(
      options.given,
      {{"--offload-dir", isOffloaded,
        ": this trainer keeps all in memory; compile it with shardc "
        "--offload optimizer"},
       {"--offload-dir", isInFile,
        ": on GPUs, what is offloaded stays in the host's memory"}});
  bool trains = !options.report || !options.data.empty() || options.dryRun;
  if (isInFile && trains && !options.offloadDir)
    fail("this trainer was compiled with shardc --offload: give --offload-dir "
         "DIR, a folder on a disk with room for what does not stay in memory");
  cli::refuseIdle(
      options.given,
      {{"--check", options.reduce != Reduce::Nccl,
        " with --reduce nccl, whose order of sums no unsharded step has"},
       {"--check",
        options.microBatches == 1 || plan.accumulate() != "unsharded",
        " with --grad-accumulation in a trainer of --accumulate unsharded, "
        "which rounds and adds in another order"},
       {"--cuda-graph", device.flags.contains("--cuda-graph"), notCuda},
       {"--attention", device.flags.contains("--attention"), notCuda},
       {"--attention", hasAttention(plan), " in a model without attention"},
       {"--tune", device.flags.contains("--tune"), notCuda},
       {"--reduce", device.flags.contains("--reduce"), notCuda},
       {"--reduce", plan.mesh().ranks() > 1,
        " on a mesh of one rank, which has nothing to add"},
       {"--timeout", plan.mesh().ranks() > 1,
        " on a mesh of one rank, which waits for nobody"},
       {"--init-group", drawsInitialValues(options, plan),
        " without --init random"},
       {"--no-decay", weightDecayOf(options, plan) > 0,
        ": the weight decay is 0; give --weight-decay"},
       {"--dropout", drawsMasks(plan), noDropout},
       {"--dropout-rate", drawsMasks(plan), noDropout},
       {"--seed",
        options.order.shuffle || plan.has_draws() ||
            drawsInitialValues(options, plan),
        " without --shuffle, --sampler, --init random or a model with "
        "dropout: nothing is drawn"}});
  std::vector<std::string> predicted;
  for (const PredictOption &option : options.predictions) {
    std::string name = findOutput(plan, option).name();
    if (std::ranges::find(predicted, name) != predicted.end())
      fail("--predict names the output '", name, "' twice");
    predicted.push_back(name);
  }
  if (options.keepBest && !options.keepBest->isLoss() && !options.evalCommand &&
      !(options.keepBest->metric == "accuracy" && hasAccuracy(plan)))
    fail("--keep-best ", options.keepBest->metric,
         options.keepBest->metric == "accuracy"
             ? " needs a trainer that was compiled with shardc --metric "
               "accuracy, or --eval-command, which gives it"
             : " needs --eval-command, which gives it; without, there are "
               "eval_loss and accuracy");
  checkLossScale(options, plan);
}

} // namespace shardc::runtime
