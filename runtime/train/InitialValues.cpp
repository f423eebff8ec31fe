// Files, checkpoints, draws.
#include "runtime/train/InitialValues.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/train/InitGroups.h"
#include "runtime/train/RunSettings.h"

#include <algorithm>
#include <filesystem>

namespace shardc::runtime {

const ParameterSource &InitialValues::source() const {
  if (random)
    return *random;
  return sharded ? static_cast<const ParameterSource &>(*sharded) : *stored;
}

std::vector<std::string> InitialValues::paths() const {
  std::vector<std::string> all = stored->paths();
  if (sharded)
    all.insert(all.end(), sharded->paths().begin(), sharded->paths().end());
  return all;
}

/// The folder of a checkpoint's parameters, where `path` is a checkpoint that
/// is whole; else the path itself.
static std::string behindManifest(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::exists(path + "/" + Manifest::fileName, error))
    return path;
  StoredCheckpoint compared(path);
  return path + "/" + modelFolder;
}

InitialValues openInitialValues(const Options &options, const plan::Plan &plan,
                                const EmbeddedWeights &embedded,
                                const StoredCheckpoint *resumed) {
  InitialValues values;
  bool drawn = drawsInitialValues(options, plan);
  auto isNeeded = [&](const plan::Parameter &parameter) {
    return !resumed || !resumed->has(parameter);
  };
  // A job that is started again and again names files of its first run.
  bool readsWeights =
      options.weights && std::ranges::any_of(plan.parameters(), isNeeded);
  std::string path =
      readsWeights ? behindManifest(*options.weights) : std::string();
  if (!shardFiles(path).empty()) {
    values.sharded = std::make_unique<ShardedParameters>(plan, path);
    values.stored = StoredParameters::recorded(
        plan, embedded, true, [&](const plan::Parameter &parameter) {
          return isNeeded(parameter) && !values.sharded->holds(parameter);
        });
    values.sharded->completeFrom(*values.stored);
    return values;
  }
  if (readsWeights)
    values.stored =
        StoredParameters::fromPath(plan, *options.weights, embedded);
  else
    values.stored =
        StoredParameters::recorded(plan, embedded, !drawn, isNeeded);
  if (drawn)
    values.random = std::make_unique<RandomParameters>(
        plan, options.seed, values.stored.get(),
        initDistributions(options, plan));
  return values;
}

} // namespace shardc::runtime
