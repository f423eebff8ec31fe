// The folder of checkpoints, and what a run goes on from there.
#include "runtime/train/OpenCheckpoints.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Text.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/checkpoint/FrozenHashes.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/data/Fingerprint.h"
#include "runtime/metrics/Print.h"
#include "runtime/train/Report.h"

#include <algorithm>
#include <filesystem>

namespace shardc::runtime {

Manifest manifestOf(const Options &options, const plan::Plan &plan,
                    const RunSettings &settings,
                    const StoredCheckpoint *resumed, const Dataset &data,
                    std::optional<int64_t> samples) {
  Manifest manifest;
  manifest.samples =
      samples.value_or(resumed ? resumed->manifest().samples : 0);
  manifest.order =
      samples || !resumed ? options.order : resumed->manifest().order;
  if (samples && data.mixture())
    manifest.mixture = data.mixture()->made();
  else if (!samples && resumed)
    manifest.mixture = resumed->manifest().mixture;
  if (samples)
    manifest.data = fingerprintsOf(data);
  else if (resumed)
    manifest.data = resumed->manifest().data;
  manifest.mesh = meshText(plan.mesh());
  manifest.strategy = plan.mesh().strategy();
  manifest.precision = precisionText(plan.precision());
  manifest.optimizer = plan.optimizer().kind();
  manifest.model = plan.model();
  manifest.modelHash = plan.model_hash();
  manifest.initialValues = settings.initialValues;
  manifest.flags.assign(options.words.begin(), options.words.end());
  return manifest;
}

std::string forgottenFlags(const Manifest &saved, const Options &options) {
  static constexpr std::string_view learning[] = {"--lr",
                                                  "--schedule",
                                                  "--warmup-steps",
                                                  "--warmup-ratio",
                                                  "--min-lr",
                                                  "--min-lr-ratio",
                                                  "--warmup-start-factor",
                                                  "--lr-power",
                                                  "--decay-steps",
                                                  "--plateau-factor",
                                                  "--plateau-patience",
                                                  "--plateau-threshold",
                                                  "--plateau-cooldown",
                                                  "--total-steps",
                                                  "--clip",
                                                  "--clip-norm",
                                                  "--weight-decay",
                                                  "--betas",
                                                  "--eps",
                                                  "--momentum",
                                                  "--nesterov",
                                                  "--no-nesterov",
                                                  "--no-decay",
                                                  "--group",
                                                  "--adjust-lr",
                                                  "--grad-accumulation"};
  std::string text;
  const std::vector<std::string> &words = saved.flags;
  for (size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(learning, words[i]) == std::end(learning) ||
        options.given.contains(words[i]))
      continue;
    bool hasValue = i + 1 < words.size() && !words[i + 1].starts_with("--");
    text += concat(text.empty() ? "" : ", ", words[i], hasValue ? " " : "",
                   hasValue ? words[i + 1] : "");
  }
  return text;
}

std::vector<std::string> checkFrozenValues(Run &run) {
  if (!run.resumed && !run.options.checkpointDir)
    return {};
  // More threads wait for the same disk.
  constexpr int mostThreads = 16;
  run.manifest.frozen = frozenHashes(run.plan, run.initialValues, run.resumed,
                                     std::min(usableCores(), mostThreads));
  if (!run.resumed)
    return {};
  return checkFrozen(run.plan, run.manifest.frozen, *run.resumed);
}

void checkWeightsAreRead(const Options &options, const plan::Plan &plan,
                         const StoredCheckpoint &resumed) {
  const char *flag = options.weights ? "--weights" : "--init";
  if (options.resume == "auto" || (!options.weights && !options.init))
    return;
  // A buffer is the model's own.
  for (const plan::Parameter &parameter : plan.parameters())
    if ((parameter.trainable() || parameter.frozen()) &&
        !resumed.has(parameter))
      return;
  fail(flag, " changes nothing beside --resume: ", resumed.where(),
       " has every parameter; leave one of the two out");
}

std::unique_ptr<FolderLock> lockCheckpoints(const World &world,
                                            const Options &options) {
  std::error_code error;
  std::unique_ptr<FolderLock> lock;
  if (options.checkpointDir && !options.dryRun && world.leads() &&
      std::filesystem::is_directory(*options.checkpointDir, error))
    lock = std::make_unique<FolderLock>(*options.checkpointDir);
  return lock;
}

void openCheckpoints(Run &run, std::unique_ptr<FolderLock> &lock) {
  const Options &options = run.options;
  if (!options.checkpointDir)
    return;
  run.checkpoints.emplace(*options.checkpointDir);
  if (!run.world.leads())
    return;
  run.checkpoints->make();
  if (!lock)
    lock = std::make_unique<FolderLock>(*options.checkpointDir);
  run.checkpoints->clean();
  std::error_code error;
  if (options.resume == "none") {
    if (std::string aside = run.checkpoints->setAside(); !aside.empty())
      print(concat("checkpoints: those of the earlier run are in ",
                   printable(aside), " now\n"));
  } else if (run.resumed && options.resume != "auto") {
    // Another run begins there: a later `--resume auto` is to find its steps,
    // and not those that it went back behind, or that are another run's.
    bool isThere = std::filesystem::equivalent(run.resumed->where() + "/..",
                                               *options.checkpointDir, error);
    int64_t step = isThere ? run.resumed->manifest().progress.step : -1;
    if (std::string aside = run.checkpoints->setAside(step); !aside.empty())
      print(
          concat("checkpoints: those ",
                 isThere ? concat("behind step ", step) : "of the earlier run",
                 " are in ", printable(aside), " now\n"));
  }
}

void resumeAfterRestart(const Launch &launch, Options &options) {
  if (launch.restarts == 0 || launch.run.empty() || !options.checkpointDir ||
      options.resume == "auto")
    return;
  // Whether it is whole is seen when it is opened; --resume auto takes an older
  // one then.
  CheckpointFolder folder(*options.checkpointDir);
  auto isOwn = [&](int64_t step) {
    try {
      return readManifest(folder.pathOf(step)).launched == launch.run;
    } catch (const Error &) {
      return false;
    }
  };
  if (std::ranges::none_of(folder.steps(), isOwn))
    return;
  options.resume = "auto";
  if (launch.process == 0)
    print(concat("restart ", launch.restarts,
                 ": goes on from what it has "
                 "saved in ",
                 printable(*options.checkpointDir), "\n"));
}

} // namespace shardc::runtime
