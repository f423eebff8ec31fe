// Which MLflow server a run reports to: the variables of MLflow's own client.
#ifndef SHARDC_RUNTIME_MLFLOW_SETTINGS_H
#define SHARDC_RUNTIME_MLFLOW_SETTINGS_H

#include "runtime/mlflow/Http.h"

#include <functional>
#include <optional>
#include <string>

namespace shardc::runtime {

struct MLflowSettings {
  std::string uri;   // MLFLOW_TRACKING_URI, without a slash at its end
  std::string shown; // the same without a password
  std::string runId, runName, experimentId, experimentName; // empty: not given
  HttpSettings http;

  /// Null: the variable is not set.
  using Environment = std::function<const char *(const char *name)>;
  /// Nothing where there is no MLFLOW_TRACKING_URI; then `warning` names what
  /// is set and has no effect. Throws an Error for what a trainer cannot speak
  /// to, and for a value that has no meaning.
  static std::optional<MLflowSettings> read(const Environment &environment,
                                            std::string &warning);
};

} // namespace shardc::runtime

#endif
