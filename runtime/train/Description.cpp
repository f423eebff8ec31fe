// What a run is, for outputs that compare runs.
#include "runtime/train/Description.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/train/MemoryPlan.h"
#include "runtime/train/Report.h"

#include <algorithm>
#include <filesystem>
#include <pwd.h>
#include <string_view>
#include <unistd.h>

namespace shardc::runtime {

namespace {

using Table = std::vector<std::pair<std::string, std::string>>;

/// --FLAG VALUE, --FLAG=VALUE and --FLAG of the command line; what is given
/// several times is one row.
Table flagRows(const Options &options) {
  Table rows;
  for (const std::string &word : options.words) {
    // A number below 0 is a value.
    if (word.starts_with("--")) {
      size_t equals = word.find('=');
      std::string name = word.substr(2, equals - 2);
      auto row = std::ranges::find(rows, name, &Table::value_type::first);
      // The last row is the one that values belong to.
      if (row != rows.end())
        std::rotate(row, row + 1, rows.end());
      else
        rows.emplace_back(name, "");
      if (equals == std::string::npos)
        continue;
      rows.back().second +=
          (rows.back().second.empty() ? "" : " ") + word.substr(equals + 1);
    } else if (!rows.empty()) {
      rows.back().second += (rows.back().second.empty() ? "" : " ") + word;
    }
  }
  for (auto &[name, value] : rows)
    if (value.empty())
      value = "true";
  return rows;
}

/// With its folder: many files are called model.onnx.
std::string modelText(const std::string &model) {
  std::filesystem::path path(model);
  std::string folder = path.parent_path().filename().string();
  return (folder.empty() ? "" : folder + "/") + path.filename().string();
}

} // namespace

Table describe(const Run &run) {
  const RunSettings &settings = run.settings;
  const Manifest &manifest = run.manifest;
  int64_t trained = 0;
  for (const plan::Parameter &parameter : run.plan.parameters())
    if (parameter.trainable() && !isRunning(parameter))
      trained += elementCount(parameter);
  Table rows = {
      {"model", modelText(manifest.model)},
      {"model_xxh3",
       format("%016llx", static_cast<unsigned long long>(manifest.modelHash))},
      {"trained_parameters", std::to_string(trained)},
      {"mesh", manifest.mesh},
      {"strategy", manifest.strategy},
      {"precision", manifest.precision},
      {"optimizer", manifest.optimizer},
      {"samples", std::to_string(manifest.samples)},
      {"global_batch", std::to_string(settings.globalBatch)},
      {"steps", std::to_string(settings.steps)},
      {"lr", numberText(settings.schedule.peak)},
      {"weight-decay", numberText(weightDecayOf(run.options, run.plan))},
      {"grad-accumulation", std::to_string(settings.microBatches)},
      {"seed", std::to_string(run.options.seed)},
      {"initial_values", settings.initialValues}};
  size_t resolved = rows.size();
  for (const auto &row : flagRows(run.options))
    if (std::none_of(rows.begin(), rows.begin() + resolved,
                     [&](const auto &r) { return r.first == row.first; }))
      rows.push_back(row);
  return rows;
}

std::vector<std::pair<std::string, int64_t>> memoryOf(const Run &run) {
  std::vector<std::pair<std::string, int64_t>> pools;
  MemoryPlan memory = MemoryPlan::of(run.plan, run.settings.microBatches,
                                     run.settings.ranksSharing);
  for (const MemoryPlan::Pool &pool : memory.pools)
    if (pool.own + pool.common > 0)
      pools.emplace_back(pool.name, pool.own + pool.common);
  return pools;
}

std::string commandText(const Options &options) {
  std::string text;
  for (const std::string &word : options.words) {
    bool isPlain =
        !word.empty() && word.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                             "UVWXYZ0123456789-_=./,:@+") == std::string::npos;
    std::string quoted = "'";
    for (char c : word)
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += (text.empty() ? "" : " ") + (isPlain ? word : quoted + "'");
  }
  return text;
}

std::string userName() {
  const passwd *user = getpwuid(geteuid());
  return user && user->pw_name ? user->pw_name : "unknown";
}

} // namespace shardc::runtime
