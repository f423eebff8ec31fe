// Files, checkpoints, draws.
#include "runtime/train/InitialValues.h"

#include "runtime/base/Error.h"
#include "runtime/base/Regex.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/train/InitGroups.h"
#include "runtime/train/RunSettings.h"

#include <algorithm>
#include <filesystem>

namespace shardc::runtime {

const ParameterSource &InitialValues::source() const {
  if (divided)
    return *divided;
  if (random)
    return *random;
  return sharded ? static_cast<const ParameterSource &>(*sharded) : *stored;
}

std::vector<std::string> InitialValues::paths() const {
  std::vector<std::string> all = stored->paths();
  auto add = [&](const std::vector<std::string> &more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  if (chosen)
    add(chosen->paths());
  if (sharded)
    add(sharded->paths());
  return all;
}

std::string InitialValues::namesText() const {
  return chosen ? chosen->namesText() : stored->namesText();
}

/// The folder of a checkpoint's parameters, where `path` is a checkpoint that
/// is whole, or a run's folder of them, of which it is the last; else the path
/// itself.
static std::string behindManifest(const std::string &path) {
  std::error_code error;
  if (std::filesystem::exists(path + "/" + Manifest::fileName, error)) {
    StoredCheckpoint compared(path);
    return path + "/" + modelFolder;
  }
  if (!std::filesystem::is_directory(path, error))
    return path;
  CheckpointFolder folder(path);
  std::vector<int64_t> steps = folder.steps();
  return steps.empty() ? path : behindManifest(folder.pathOf(steps.back()));
}

ParameterChoice choiceOf(const char *flag,
                         const std::optional<std::string> &pattern,
                         const plan::Plan &plan) {
  if (!pattern)
    return {};
  auto regex = std::make_shared<Regex>(*pattern);
  ParameterChoice choice = [regex](const plan::Parameter &parameter) {
    return regex->isFoundIn(parameter.name());
  };
  if (std::ranges::none_of(plan.parameters(), choice))
    fail(flag, " ", *pattern, " is found in no parameter's name; one is ",
         plan.parameters_size() ? plan.parameters(0).name() : "none");
  return choice;
}

namespace {

/// Opens the files of a run's initial values.
class ValuesOpener {
public:
  ValuesOpener(const Options &options, const plan::Plan &plan,
               const EmbeddedWeights &embedded, const StoredCheckpoint *resumed)
      : options(options), plan(plan), embedded(embedded), resumed(resumed) {}

  InitialValues open();

private:
  bool isNeeded(const plan::Parameter &parameter) const {
    return !resumed || !resumed->has(parameter);
  }
  /// Of parameters that --weights has not: recorded or drawn.
  void openRest(InitialValues &values, const ParameterChoice &isRest) const;

  const Options &options;
  const plan::Plan &plan;
  const EmbeddedWeights &embedded;
  const StoredCheckpoint *resumed;
};

void ValuesOpener::openRest(InitialValues &values,
                            const ParameterChoice &isRest) const {
  bool drawn = drawsInitialValues(options, plan);
  values.stored = StoredParameters::recorded(plan, embedded, !drawn, isRest);
  if (drawn)
    values.random = std::make_unique<RandomParameters>(
        plan, options.seed, values.stored.get(),
        initDistributions(options, plan));
}

InitialValues ValuesOpener::open() {
  InitialValues values;
  auto needed = [&](const plan::Parameter &parameter) {
    return isNeeded(parameter);
  };
  // A job that is started again and again names files of its first run.
  if (!options.weights || !std::ranges::any_of(plan.parameters(), needed)) {
    openRest(values, needed);
    return values;
  }
  const ParameterChoice isChosen =
      choiceOf("--weights-match", options.weightsMatch, plan);
  const std::string path = behindManifest(*options.weights);
  const bool areShards = !shardFiles(path).empty();
  if (areShards)
    values.sharded = std::make_unique<ShardedParameters>(plan, path, isChosen);
  // What checkpoints of this program lack are the compiled model's own values.
  auto lacks = [&](const plan::Parameter &parameter) {
    return isNeeded(parameter) && !values.sharded->holds(parameter);
  };
  if (!isChosen) {
    values.stored =
        areShards
            ? StoredParameters::recorded(plan, embedded, true, lacks)
            : StoredParameters::fromPath(plan, *options.weights, embedded);
    if (areShards)
      values.sharded->completeFrom(*values.stored);
    return values;
  }
  openRest(values, [&](const plan::Parameter &parameter) {
    return isNeeded(parameter) && !isChosen(parameter);
  });
  if (areShards) {
    values.chosen = StoredParameters::recorded(
        plan, embedded, true, [&](const plan::Parameter &parameter) {
          return isChosen(parameter) && lacks(parameter);
        });
    values.sharded->completeFrom(*values.chosen);
  } else {
    values.chosen =
        StoredParameters::fromPath(plan, *options.weights, embedded, isChosen);
  }
  std::vector<bool> isOfFirst;
  for (const plan::Parameter &parameter : plan.parameters())
    isOfFirst.push_back(isChosen(parameter));
  const ParameterSource &rest =
      values.random ? static_cast<const ParameterSource &>(*values.random)
                    : *values.stored;
  const ParameterSource &first =
      areShards ? static_cast<const ParameterSource &>(*values.sharded)
                : *values.chosen;
  values.divided =
      std::make_unique<DividedParameters>(first, rest, std::move(isOfFirst));
  return values;
}

} // namespace

InitialValues openInitialValues(const Options &options, const plan::Plan &plan,
                                const EmbeddedWeights &embedded,
                                const StoredCheckpoint *resumed) {
  return ValuesOpener(options, plan, embedded, resumed).open();
}

} // namespace shardc::runtime
