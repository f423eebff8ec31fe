// What a run asks of an MLflow server: its REST interface.
#ifndef SHARDC_RUNTIME_MLFLOW_SERVER_H
#define SHARDC_RUNTIME_MLFLOW_SERVER_H

#include "runtime/base/Error.h"
#include "runtime/mlflow/Settings.h"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// An answer that says no, or that MLflow would not give.
class Refusal : public Error {
public:
  Refusal(const std::string &text, long status, std::string code)
      : Error(text), status(status), code(std::move(code)) {}
  long status;
  std::string code; // MLflow's, as RESOURCE_DOES_NOT_EXIST; may be empty
  /// Whether the same request may be answered otherwise a little later.
  bool mayPass() const {
    return status == 408 || status == 429 || status >= 500;
  }
};

struct MLflowRun {
  std::string id, artifacts;                 // where its artifacts lie
  std::map<std::string, std::string> params; // those that it has
};

/// Names and values.
using MLflowTexts = std::vector<std::pair<std::string, std::string>>;

/// All functions throw a Refusal, or an Error where there is no answer.
class MLflowServer {
public:
  /// MLflow's limits for one request.
  static constexpr size_t mostMetrics = 1000, mostParams = 100,
                          mostBytes = 900 << 10; // of 1 MiB

  /// Throws an Error where there is no libcurl.
  explicit MLflowServer(const MLflowSettings &settings);

  /// The experiment's id; makes it where there is none of its name.
  std::string experiment();
  /// `mark`: a tag of this run alone. Where a run has it already, that is the
  /// one: an answer was lost on its way.
  MLflowRun createRun(const std::string &experiment, const MLflowTexts &tags,
                      const std::string &mark);
  MLflowRun run(const std::string &id);
  /// `metrics`: an array of what log-batch takes, at most mostMetrics.
  void logMetrics(const std::string &id, const nlohmann::json &metrics);
  void logParams(const std::string &id, const MLflowTexts &params);
  void logTags(const std::string &id, const MLflowTexts &tags);
  /// The values of a metric that the server has, by step.
  std::multimap<int64_t, double> history(const std::string &id,
                                         const std::string &metric);
  /// FINISHED, FAILED, KILLED (an end), or RUNNING.
  void setStatus(const std::string &id, const std::string &status);
  /// Where a file of that name would be sent to; empty where the store is not
  /// behind the server.
  std::string addressOf(const MLflowRun &run, const std::string &name) const;
  void upload(const std::string &address, const std::string &file);

  /// What is sent now and later ends with an error. For other threads.
  void abandon() { http.abandon(); }

private:
  nlohmann::json call(const char *method, const std::string &what,
                      const nlohmann::json &body);
  std::string answerTo(const HttpRequest &request, const std::string &what);

  MLflowSettings settings;
  Http http;
  bool mayHaveCreated = false; // a run, though no answer came
};

} // namespace shardc::runtime

#endif
