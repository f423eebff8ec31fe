// The thread that sends what a run tells to an MLflow server.
#ifndef SHARDC_RUNTIME_MLFLOW_SENDER_H
#define SHARDC_RUNTIME_MLFLOW_SENDER_H

#include "runtime/mlflow/Server.h"

#include <condition_variable>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shardc::runtime {

/// What a run says of itself before its first metric.
struct MLflowDescription {
  /// The run that is gone on with; empty: a new one.
  std::string runId;
  /// Whether the user has named it; then no other takes its place.
  bool isNamed = false;
  MLflowTexts params, tags;
  /// Lines of --metrics from before: what the server lacks of them follows.
  std::string earlierLines; // a file; empty: none
  uint64_t earlierBytes = 0;
};

/// Nobody waits for the server but finish() and waitForRun(). Lines of
/// --metrics are queued and sent in batches; what cannot be sent is tried again
/// with growing pauses. Where the run is gone on with, the server is asked what
/// it has, and is not sent it again.
class MLflowSender {
public:
  /// Steps and evaluations that wait in memory, at most; then the oldest go.
  static constexpr size_t mostQueued = 200'000;

  MLflowSender(std::unique_ptr<MLflowServer> server,
               MLflowDescription description);
  /// Gives up what is not sent.
  ~MLflowSender();

  void add(std::string line);
  /// Waits until the server knows the run or the first attempt has failed.
  void waitForRun(double seconds);
  /// The run's id; empty: not known yet.
  std::string runId() const;

  struct Message {
    bool isWarning = false;
    std::string text;
  };
  /// What is to be shown; the caller's thread is the one that prints.
  std::vector<Message> takeMessages();

  struct Ending {
    std::string status;
    std::vector<std::string> artifacts; // files
  };
  struct Left {
    size_t lines = 0;   // not sent
    bool isAll = false; // everything arrived, the ending included
    std::string reason;
  };
  /// Sends what is left. Waits for at most `seconds`, and longer only while
  /// artifacts are on their way; a signal that comes meanwhile ends it.
  Left finish(Ending ending, double seconds);

private:
  void run();
  /// Waits for something to do; false: there is nothing any more.
  bool waitForWork(std::unique_lock<std::mutex> &lock);
  void connect();
  void createOrContinue();
  void readHistory();
  bool isAtServer(const nlohmann::json &line) const;
  /// Sends a batch; false: there was nothing to send.
  bool sendBatch();
  void fillBatch();
  void addToBatch(const std::string &line);
  void sendEnding();
  void noteFailure(const Error &error, bool mayPass);
  void say(bool isWarning, std::string text);

  std::unique_ptr<MLflowServer> server;
  MLflowDescription description;

  // The sender's thread alone:
  std::string mark;
  MLflowRun known;
  bool isConnected = false, hasParams = false;
  std::multimap<int64_t, double> losses, evalLosses; // that the server has
  std::ifstream earlier;
  uint64_t earlierLeft = 0; // bytes
  nlohmann::json batch = nlohmann::json::array();
  size_t batchLines = 0, batchBytes = 0;
  std::optional<std::string> heldBack; // a line that did not fit
  size_t artifactsSent = 0;

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> queue;
  size_t dropped = 0;      // of the queue
  size_t inBatch = 0;      // lines
  bool hasBacklog = false; // earlier lines are not all read
  std::string id, reason;  // why the last attempt failed
  bool isUp = true;        // the last attempt did not fail
  bool attempted = false, isRefused = false, isUploading = false;
  bool stopping = false, isDone = false;
  std::optional<Ending> ending;
  std::vector<Message> messages;
  std::thread thread;
};

} // namespace shardc::runtime

#endif
