// The leader writes files and runs the command; what it says goes to all ranks.
#include "runtime/train/EvaluationCommand.h"

#include "runtime/base/Error.h"
#include "runtime/base/Signals.h"
#include "runtime/base/Text.h"
#include "runtime/comm/GatherTexts.h"
#include "runtime/files/Descriptor.h"
#include "runtime/train/Prediction.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardc::runtime {

namespace {

/// A folder that is gone when this is.
class ScratchFolder {
public:
  ScratchFolder() {
    const char *parent = getenv("TMPDIR");
    path = concat(parent && *parent ? parent : "/tmp", "/shardc-eval-XXXXXX");
    if (!mkdtemp(path.data()))
      failErrno("cannot make the folder ", path);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

std::string endText(int status) {
  if (WIFSIGNALED(status))
    return concat("was ended by signal ", WTERMSIG(status));
  return concat("ended with exit code ", WEXITSTATUS(status));
}

/// Starts `sh -c 'COMMAND "$@"' sh PATH...`, whose output goes to `output`.
pid_t start(const std::string &command, const std::vector<std::string> &paths,
            int64_t stepsDone, int output) {
  std::string script = command + " \"$@\"",
              step = concat("SHARDC_STEP=", stepsDone);
  std::vector<const char *> words = {"sh", "-c", script.c_str(), "sh"};
  for (const std::string &path : paths)
    words.push_back(path.c_str());
  words.push_back(nullptr);
  std::vector<const char *> environment;
  for (char **each = environ; *each; ++each)
    if (!std::string_view(*each).starts_with("SHARDC_STEP="))
      environment.push_back(*each);
  environment.push_back(step.c_str());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  // A group of its own, which can be ended with all that it has started.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  int error = posix_spawn(&child, "/bin/sh", &actions, &attributes,
                          const_cast<char **>(words.data()),
                          const_cast<char **>(environment.data()));
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    fail("cannot start it: ", std::strerror(error));
  return child;
}

/// What it prints. Throws an Error where it fails.
std::string run(const std::string &command,
                const std::vector<std::string> &paths, int64_t stepsDone) {
  constexpr size_t most = 1 << 20;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    failErrno("cannot make a pipe");
  Descriptor from(ends[0]), to(ends[1]);
  pid_t child = start(command, paths, stepsDone, to.get());
  to.close();
  std::string printed;
  char chunk[4096];
  bool isStopped = false;
  for (;;) {
    // A run that is to stop has seconds to save itself.
    if (!isStopped && stopSignal()) {
      isStopped = true;
      kill(-child, SIGTERM);
    }
    constexpr int milliseconds = 100;
    pollfd ready = {from.get(), POLLIN, 0};
    if (poll(&ready, 1, milliseconds) <= 0)
      continue;
    ssize_t count = read(from.get(), chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    if (printed.size() < most)
      printed.append(chunk, size_t(count));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  if (isStopped)
    fail("it was ended, since the run is to stop");
  if (status != 0)
    fail("it ", endText(status));
  if (printed.size() >= most)
    fail("it printed more than ", most, " bytes");
  return printed;
}

std::string jsonOf(const std::vector<EvaluationMetric> &metrics) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const EvaluationMetric &metric : metrics)
    json[metric.name] = metric.value;
  return json.dump();
}

} // namespace

std::vector<EvaluationMetric> parseMetrics(const std::string &printed) {
  size_t end = printed.find_last_not_of(" \t\r\n");
  size_t begin = end == printed.npos ? printed.npos : printed.rfind('\n', end);
  std::string line =
      end == printed.npos
          ? ""
          : printed.substr(begin == printed.npos ? 0 : begin + 1,
                           end - (begin == printed.npos ? -1 : begin));
  auto json = nlohmann::ordered_json::parse(line, nullptr,
                                            /*allow_exceptions=*/false);
  if (!json.is_object() || json.empty())
    fail("its last line is no JSON object of numbers: '", line.substr(0, 200),
         "'");
  std::vector<EvaluationMetric> metrics;
  for (const auto &[name, value] : json.items()) {
    static constexpr std::string_view own[] = {
        "event",   "step",       "loss",  "eval_loss", "samples",    "time",
        "seconds", "perplexity", "epoch", "mfu",       "interrupted"};
    if (std::ranges::find(own, name) != std::end(own))
      fail("it calls a metric '", name, "', which evaluations have themselves");
    if (name.empty() || name.size() > 64 ||
        !std::ranges::all_of(name, [](unsigned char c) {
          return std::isalnum(c) || std::strchr("_.-/@", c);
        }))
      fail("it calls a metric '", name,
           "'; names have letters, digits and _.-/@, 64 at most");
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      fail("its metric ", name, " is ", value.dump(),
           ", which is no finite number");
    metrics.push_back({name, value.get<double>()});
  }
  return metrics;
}

EvaluationResult evaluateByCommand(Run &run, Evaluation &evaluation, Rank &rank,
                                   int64_t stepsDone) {
  const std::vector<PredictOption> &options = run.options.predictions;
  const bool leads = rank.rank() == World::leader;
  std::optional<ScratchFolder> folder;
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<PredictionFile>> files;
  std::string said; // "+JSON" or "-ERROR"
  if (leads) {
    try {
      folder.emplace();
      for (size_t i = 0; i < options.size(); ++i) {
        paths.push_back(concat(folder->path, "/prediction-", i, ".npy"));
        files.push_back(std::make_unique<PredictionFile>(
            findOutput(run.plan, options[i]), paths[i],
            run.evalData->samples()));
      }
    } catch (const Error &error) {
      said = std::string("-") + error.what();
      files.clear();
    }
  }
  Predicting predicting(run.plan, options, run.evalData->samples(), rank,
                        files);
  EvaluationResult result =
      evaluation([&](int64_t first) { predicting.take(first); });
  predicting.finish();
  if (leads && said.empty()) {
    try {
      std::vector<EvaluationMetric> metrics = parseMetrics(
          runtime::run(*run.options.evalCommand, paths, stepsDone));
      for (const EvaluationMetric &metric : metrics)
        if (result.find(metric.name))
          fail("it calls a metric '", metric.name,
               "', which evaluations have themselves");
      said = "+" + jsonOf(metrics);
      const std::optional<BestBy> &by = run.options.keepBest;
      auto isBy = [&](const EvaluationMetric &each) {
        return each.name == by->metric;
      };
      if (by && !by->isLoss() && !result.find(by->metric) &&
          std::ranges::none_of(metrics, isBy))
        run.metrics.terminal().warning(
            concat("--keep-best ", by->metric, ": --eval-command after step ",
                   stepsDone, " gives no such metric; it gives ",
                   metrics.front().name));
    } catch (const Error &error) {
      said = std::string("-") + error.what();
    }
  }
  said = gatherTexts(rank.communicator(), said)[World::leader];
  if (said.starts_with("+"))
    for (EvaluationMetric &metric : parseMetrics(said.substr(1)))
      result.metrics.push_back(std::move(metric));
  else if (leads)
    run.metrics.terminal().warning(
        concat("--eval-command after step ", stepsDone, ": ", said.substr(1),
               "; this evaluation is without its metrics"));
  return result;
}

} // namespace shardc::runtime
