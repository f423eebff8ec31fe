// The thread that sends what a run tells to an MLflow server.
#include "runtime/mlflow/Sender.h"

#include "runtime/base/Signals.h"
#include "runtime/base/Text.h"
#include "runtime/metrics/Process.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <utility>

namespace shardc::runtime {

using Json = nlohmann::json;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr double batchInterval = 1; // seconds; a full batch goes at once
constexpr double firstPause = 0.5, longestPause = 60;

std::string drawnMark() {
  std::random_device device;
  return format("%08x%08x%08x%08x", device(), device(), device(), device());
}

bool isEvaluation(const Json &line) {
  return line.contains("event") && line["event"] == "eval";
}

/// As on the console: the steps that are done.
int64_t stepOf(const Json &line) {
  return line["step"].get<int64_t>() + !line.contains("event");
}

} // namespace

MLflowSender::MLflowSender(std::unique_ptr<MLflowServer> server,
                           MLflowDescription given)
    : server(std::move(server)), description(std::move(given)),
      mark(drawnMark()), id(description.runId) {
  if (!description.earlierLines.empty()) {
    earlier.open(description.earlierLines, std::ios::binary);
    earlierLeft = description.earlierBytes;
    hasBacklog = earlierLeft > 0;
  }
  thread = std::thread([this] { run(); });
}

MLflowSender::~MLflowSender() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  server->abandon();
  changed.notify_all();
  thread.join();
}

void MLflowSender::add(std::string line) {
  std::lock_guard lock(mutex);
  queue.push_back(std::move(line));
  if (queue.size() > mostQueued) {
    queue.pop_front();
    ++dropped;
  }
}

void MLflowSender::waitForRun(double seconds) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, Seconds(seconds), [&] { return attempted; });
}

std::string MLflowSender::runId() const {
  std::lock_guard lock(mutex);
  return id;
}

std::vector<MLflowSender::Message> MLflowSender::takeMessages() {
  std::lock_guard lock(mutex);
  return std::exchange(messages, {});
}

MLflowSender::Left MLflowSender::finish(Ending given, double seconds) {
  std::unique_lock lock(mutex);
  ending = std::move(given);
  isRefused = false; // one attempt more
  changed.notify_all();
  // A signal that has ended the run is not one that ends the wait.
  int before = stopSignal();
  double deadline = monotonicSeconds() + seconds;
  while (!isDone && !isRefused && stopSignal() == before &&
         (isUploading || monotonicSeconds() < deadline))
    changed.wait_for(lock, Seconds(0.1));
  Left left;
  left.isAll = isDone;
  left.lines = queue.size() + inBatch + dropped;
  left.reason = reason;
  if (left.reason.empty())
    left.reason = stopSignal() == before ? concat("it takes longer than ",
                                                  numberText(seconds), " s")
                                         : "a signal came";
  stopping = true;
  server->abandon();
  changed.notify_all();
  return left;
}

void MLflowSender::run() {
  double pause = firstPause;
  std::unique_lock lock(mutex);
  while (waitForWork(lock)) {
    bool hasFailed = false, more = false;
    lock.unlock();
    try {
      if (!isConnected)
        connect();
      more = sendBatch();
      if (!more)
        sendEnding();
    } catch (const Refusal &refusal) {
      noteFailure(refusal, refusal.mayPass());
      hasFailed = true;
    } catch (const Error &error) {
      noteFailure(error, true);
      hasFailed = true;
    }
    lock.lock();
    attempted = true;
    if (!hasFailed) {
      pause = firstPause;
      reason.clear();
      if (!std::exchange(isUp, true))
        messages.push_back({false, "MLflow answers again"});
    }
    changed.notify_all();
    if (hasFailed) {
      // The end of the run is worth another attempt at once.
      bool wasEnding = ending.has_value();
      changed.wait_for(lock, Seconds(pause),
                       [&] { return stopping || (ending && !wasEnding); });
      pause = ending ? firstPause : std::min(2 * pause, longestPause);
    } else if (!more) {
      changed.wait_for(lock, Seconds(batchInterval), [&] {
        return stopping || ending || queue.size() >= MLflowServer::mostMetrics;
      });
    }
  }
}

bool MLflowSender::waitForWork(std::unique_lock<std::mutex> &lock) {
  while (!stopping && !isDone) {
    if (!attempted || hasBacklog || inBatch || !queue.empty() || ending)
      return true;
    changed.wait_for(lock, Seconds(batchInterval));
  }
  return false;
}

void MLflowSender::noteFailure(const Error &error, bool mayPass) {
  std::lock_guard lock(mutex);
  if (stopping)
    return;
  reason = error.what();
  isRefused = !mayPass && ending;
  if (std::exchange(isUp, false))
    messages.push_back(
        {true, reason + "; the run goes on, its metrics wait and follow"});
}

void MLflowSender::say(bool isWarning, std::string text) {
  std::lock_guard lock(mutex);
  messages.push_back({isWarning, std::move(text)});
}

void MLflowSender::connect() {
  if (known.id.empty())
    createOrContinue();
  if (!hasParams) {
    // Those that a run has cannot be changed.
    MLflowTexts missing;
    for (const auto &param : description.params)
      if (!known.params.contains(param.first))
        missing.push_back(param);
    server->logParams(known.id, missing);
    hasParams = true;
  }
  if (!description.runId.empty())
    readHistory();
  isConnected = true;
}

void MLflowSender::createOrContinue() {
  if (!description.runId.empty()) {
    try {
      MLflowRun found = server->run(description.runId);
      server->setStatus(found.id, "RUNNING");
      server->logTags(found.id, description.tags);
      known = std::move(found);
      say(false, concat("MLflow: goes on with run ", known.id));
      return;
    } catch (const Refusal &refusal) {
      if (refusal.code != "RESOURCE_DOES_NOT_EXIST" || description.isNamed)
        throw;
      say(true, concat("MLflow has no run ", description.runId,
                       " any more; a new one has its metrics"));
      description.runId.clear();
    }
  }
  MLflowRun made =
      server->createRun(server->experiment(), description.tags, mark);
  say(false, concat("MLflow: run ", made.id));
  known = std::move(made);
  std::lock_guard lock(mutex);
  id = known.id;
}

void MLflowSender::readHistory() {
  for (auto [name, values] :
       {std::pair{"loss", &losses}, std::pair{"eval_loss", &evalLosses}})
    try {
      *values = server->history(known.id, name);
    } catch (const Refusal &refusal) {
      // Older servers say so where there is none yet.
      if (refusal.code != "RESOURCE_DOES_NOT_EXIST")
        throw;
    }
}

bool MLflowSender::isAtServer(const Json &line) const {
  if (!line["loss"].is_number())
    return false;
  auto [first, last] =
      (isEvaluation(line) ? evalLosses : losses).equal_range(stepOf(line));
  return std::any_of(first, last, [&](const auto &entry) {
    return entry.second == line["loss"].template get<double>();
  });
}

void MLflowSender::addToBatch(const std::string &text) {
  Json line = Json::parse(text, nullptr, false);
  if (!line.is_object() || !line.contains("step") || !line.contains("loss") ||
      !line["step"].is_number_integer() || !line.contains("time") ||
      !line["time"].is_number() ||
      (line.contains("event") && !isEvaluation(line)) || isAtServer(line))
    return;
  std::string prefix = isEvaluation(line) ? "eval_" : "";
  Json metrics = Json::array();
  // What is not finite has no number in a line.
  for (const auto &[key, value] : line.items())
    if (value.is_number() && key != "step" && key != "time")
      metrics.push_back(
          {{"key", prefix + key},
           {"value", value},
           {"timestamp", std::llround(1e3 * line["time"].get<double>())},
           {"step", stepOf(line)}});
  size_t bytes = metrics.dump().size();
  if (!batch.empty() &&
      (batch.size() + metrics.size() > MLflowServer::mostMetrics ||
       batchBytes + bytes > MLflowServer::mostBytes)) {
    heldBack = text;
    return;
  }
  batch.insert(batch.end(), metrics.begin(), metrics.end());
  batchBytes += bytes;
  ++batchLines;
}

void MLflowSender::fillBatch() {
  if (std::optional<std::string> line = std::exchange(heldBack, std::nullopt))
    addToBatch(*line);
  for (std::string line; !heldBack && earlierLeft > 0;) {
    if (!std::getline(earlier, line) || line.size() + 1 > earlierLeft) {
      earlierLeft = 0;
      break;
    }
    earlierLeft -= line.size() + 1;
    addToBatch(line);
  }
  std::unique_lock lock(mutex);
  while (!heldBack && !queue.empty()) {
    std::string line = std::move(queue.front());
    queue.pop_front();
    ++inBatch; // until it is sent, or known to be there
    lock.unlock();
    addToBatch(line);
    lock.lock();
  }
  inBatch = batchLines + heldBack.has_value();
  hasBacklog = earlierLeft > 0;
}

bool MLflowSender::sendBatch() {
  // A batch that has failed is sent again as it was.
  if (batch.empty())
    fillBatch();
  if (batch.empty())
    return false;
  server->logMetrics(known.id, batch);
  batch = Json::array();
  batchLines = batchBytes = 0;
  std::lock_guard lock(mutex);
  inBatch = heldBack.has_value();
  return heldBack || hasBacklog || !queue.empty();
}

void MLflowSender::sendEnding() {
  Ending last;
  {
    std::lock_guard lock(mutex);
    // What came meanwhile goes first.
    if (!ending || inBatch || hasBacklog || !queue.empty())
      return;
    last = *ending;
    isUploading = artifactsSent < last.artifacts.size();
  }
  struct Uploading {
    MLflowSender &sender;
    ~Uploading() {
      std::lock_guard lock(sender.mutex);
      sender.isUploading = false;
    }
  };
  {
    Uploading guard{*this};
    for (; artifactsSent < last.artifacts.size(); ++artifactsSent) {
      const std::string &file = last.artifacts[artifactsSent];
      std::string address = server->addressOf(
          known, std::filesystem::path(file).filename().string());
      if (address.empty()) {
        say(true,
            concat("artifacts of this MLflow run lie at ", known.artifacts,
                   ", which is not behind the server: the exports are not "
                   "sent; mlflow server --serve-artifacts makes it take them"));
        artifactsSent = last.artifacts.size();
        break;
      }
      server->upload(address, file);
    }
  }
  server->setStatus(known.id, last.status);
  std::lock_guard lock(mutex);
  isDone = true;
}

} // namespace shardc::runtime
