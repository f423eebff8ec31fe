// Which MLflow server a run reports to.
#include "runtime/mlflow/Settings.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace shardc::runtime {

namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

void checkAddress(const std::string &uri) {
  constexpr const char *name = "MLFLOW_TRACKING_URI=";
  std::string scheme = lower(uri.substr(0, uri.find(':')));
  if (uri == "databricks" || scheme == "databricks" || scheme == "uc")
    fail(name, uri,
         ": Databricks has its own way to sign in, which a trainer does not "
         "have; name a server of MLflow by http:// or https://, or unset the "
         "variable");
  if ((scheme != "http" && scheme != "https") ||
      uri.substr(scheme.size(), 3) != "://")
    fail(name, uri,
         ": a trainer speaks to a server, by http:// or https:// alone; start "
         "one with mlflow server --backend-store-uri ",
         uri, " and name its address, or unset the variable");
  // Of the host there is at least a letter; and none is a blank.
  if (uri.size() <= scheme.size() + 3 || uri[scheme.size() + 3] == '/' ||
      std::ranges::any_of(uri, [](unsigned char c) { return c <= ' '; }) ||
      uri.find_first_of("?#") != std::string::npos)
    fail(name, uri, " is no address of a server, as http://localhost:5000 is");
}

/// Without what stands before an @ in the host.
std::string withoutCredentials(const std::string &uri) {
  size_t host = uri.find("://") + 3;
  size_t at = uri.substr(0, uri.find('/', host)).rfind('@');
  return at == std::string::npos ? uri
                                 : uri.substr(0, host) + uri.substr(at + 1);
}

} // namespace

std::optional<MLflowSettings>
MLflowSettings::read(const Environment &environment, std::string &warning) {
  auto get = [&](const char *name) -> std::string {
    const char *value = environment(name);
    return value ? value : "";
  };
  MLflowSettings settings;
  settings.uri = get("MLFLOW_TRACKING_URI");
  if (settings.uri.empty()) {
    for (const char *name : {"MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_NAME",
                             "MLFLOW_EXPERIMENT_ID", "MLFLOW_RUN_NAME"})
      if (warning.empty() && !get(name).empty())
        warning = concat(name, " is set, and MLFLOW_TRACKING_URI is not: "
                               "nothing goes to MLflow");
    return std::nullopt;
  }
  checkAddress(settings.uri);
  while (settings.uri.ends_with('/'))
    settings.uri.pop_back();
  settings.shown = withoutCredentials(settings.uri);
  settings.runId = get("MLFLOW_RUN_ID");
  settings.runName = get("MLFLOW_RUN_NAME");
  settings.experimentId = get("MLFLOW_EXPERIMENT_ID");
  settings.experimentName = get("MLFLOW_EXPERIMENT_NAME");
  if (!settings.experimentId.empty() && !settings.experimentName.empty())
    fail("MLFLOW_EXPERIMENT_ID=", settings.experimentId,
         " and MLFLOW_EXPERIMENT_NAME=", settings.experimentName,
         " exclude each other: both name the experiment");
  HttpSettings &http = settings.http;
  http.username = get("MLFLOW_TRACKING_USERNAME");
  http.password = get("MLFLOW_TRACKING_PASSWORD");
  if (http.username.empty() != http.password.empty())
    fail(http.username.empty() ? "MLFLOW_TRACKING_PASSWORD"
                               : "MLFLOW_TRACKING_USERNAME",
         " needs ",
         http.username.empty() ? "MLFLOW_TRACKING_USERNAME"
                               : "MLFLOW_TRACKING_PASSWORD");
  http.token = get("MLFLOW_TRACKING_TOKEN");
  std::string insecure = lower(get("MLFLOW_TRACKING_INSECURE_TLS"));
  if (!insecure.empty() && insecure != "true" && insecure != "1" &&
      insecure != "false" && insecure != "0")
    fail("MLFLOW_TRACKING_INSECURE_TLS expects true or false, got '", insecure,
         "'");
  http.checksCertificate = insecure != "true" && insecure != "1";
  http.authorities = get("MLFLOW_TRACKING_SERVER_CERT_PATH");
  http.clientCertificate = get("MLFLOW_TRACKING_CLIENT_CERT_PATH");
  if (!http.checksCertificate && !http.authorities.empty())
    fail("MLFLOW_TRACKING_INSECURE_TLS and MLFLOW_TRACKING_SERVER_CERT_PATH "
         "exclude each other");
  if (std::string text = get("MLFLOW_HTTP_REQUEST_TIMEOUT"); !text.empty()) {
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, http.timeout);
    if (error != std::errc() || stop != end || !(http.timeout >= 0.1) ||
        http.timeout > 86400)
      fail("MLFLOW_HTTP_REQUEST_TIMEOUT expects seconds from 0.1 to 86400, "
           "got '",
           text, "'");
  }
  return settings;
}

} // namespace shardc::runtime
