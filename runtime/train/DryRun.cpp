// What --dry-run checks beside all that is checked before every run.
#include "runtime/train/DryRun.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"
#include "runtime/checkpoint/SharedFolder.h"
#include "runtime/checkpoint/Space.h"

#include <algorithm>

namespace shardc::runtime {

int64_t checkpointsAtOnce(const Options &options, const RunSettings &settings) {
  const CheckpointEvery &every = options.checkpointEvery;
  // The last one is that of the run's end.
  int64_t all = 1;
  if (every.steps)
    all = settings.steps / every.steps - settings.start.step / every.steps +
          (settings.steps % every.steps != 0);
  else if (every.epochs && !options.steps)
    all = (options.epochs.value_or(1) + every.epochs - 1) / every.epochs;
  bool isKnown = !every.seconds && !(every.epochs && options.steps);
  int64_t kept = options.checkpointKeep;
  if (!kept)
    return std::max<int64_t>(1, all);
  return isKnown ? std::clamp<int64_t>(all, 1, kept + 1) : kept + 1;
}

/// "labels: 120 of 128 are counted".
static std::string labelsText(const Run &run, const Dataset &data,
                              const char *flag) {
  if (!countsLabels(run.plan.loss()) || !labelsOf(run.plan) ||
      data.lacksLabels())
    return "";
  Dataset::LabelCount count = data.countLabels();
  return concat(flag, ": ", count.valid, " of ", count.all,
                " labels are counted\n");
}

std::string checkDryRun(Run &run) {
  const Options &options = run.options;
  std::string text;
  bool reads = readsData(options);
  if (reads)
    run.data.checkValues();
  if (run.evalData)
    run.evalData->checkValues();
  if (reads)
    text += labelsText(run, run.data, "--data");
  if (run.evalData)
    text += labelsText(run, *run.evalData, "--eval-data");
  if (!options.checkpointDir)
    return text;
  const std::string &path = *options.checkpointDir;
  run.world.run([&](Communicator &communicator) {
    checkSharedFolder(communicator, path);
  });
  // What is kept may be there already. What is set aside stays.
  uint64_t reused =
      options.checkpointKeep && options.resume != "none"
          ? storedBytes(CheckpointFolder(path), options.checkpointKeep)
          : 0;
  return text + "checkpoints: " +
         printable(checkSpace(path, checkpointsAtOnce(options, run.settings),
                              checkpointBytes(run.plan, run.resumed), reused)) +
         "\n";
}

} // namespace shardc::runtime
