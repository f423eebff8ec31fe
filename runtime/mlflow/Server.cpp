// What a run asks of an MLflow server.
#include "runtime/mlflow/Server.h"

#include "runtime/base/JsonNumber.h"
#include "runtime/base/Printable.h"
#include "runtime/metrics/Process.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::json;

namespace {

constexpr size_t mostParamBytes = 500, mostTagBytes = 5000;

Json milliseconds(double seconds) { return std::llround(1e3 * seconds); }

/// At most that many bytes, and no character cut in two.
std::string shortened(const std::string &text, size_t bytes) {
  if (text.size() <= bytes)
    return text;
  size_t end = bytes - 3;
  while (end > 0 && (text[end] & 0xc0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

/// MLflow takes letters, digits and a few marks.
std::string keyText(std::string key) {
  for (char &c : key)
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        !std::strchr("_-. :/", c))
      c = '_';
  return shortened(key, 250);
}

Json keysAndValues(const MLflowTexts &texts, size_t bytes) {
  Json list = Json::array();
  for (const auto &[key, value] : texts)
    list.push_back({{"key", keyText(key)}, {"value", shortened(value, bytes)}});
  return list;
}

MLflowRun runOf(const Json &answer) {
  MLflowRun run;
  const Json &info = answer.at("run").at("info");
  info.at("run_id").get_to(run.id);
  run.artifacts = info.value("artifact_uri", "");
  if (const Json &data = answer.at("run"); data.contains("data"))
    for (const Json &param : data["data"].value("params", Json::array()))
      run.params.emplace(param.at("key").get<std::string>(),
                         param.value("value", ""));
  return run;
}

} // namespace

MLflowServer::MLflowServer(const MLflowSettings &settings)
    : settings(settings), http(settings.http) {}

std::string MLflowServer::answerTo(const HttpRequest &request,
                                   const std::string &what) {
  HttpAnswer answer;
  try {
    answer = http.send(request);
  } catch (const Error &error) {
    fail("MLflow at ", settings.shown, " cannot be reached: ", error.what());
  }
  if (answer.status >= 200 && answer.status < 300)
    return answer.body;
  Json json = Json::parse(answer.body, nullptr, false);
  std::string code, message;
  if (json.is_object()) {
    if (json.contains("error_code") && json["error_code"].is_string())
      code = json["error_code"];
    if (json.contains("message") && json["message"].is_string())
      message = json["message"];
  }
  std::string text = concat("MLflow at ", settings.shown, " answers ",
                            answer.status, " to ", what);
  if (!code.empty())
    text += " (" + code + ")";
  if (!message.empty())
    text += ": " + shortened(message, 300);
  if (answer.status == 401 || answer.status == 403)
    text += "; MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
            "MLFLOW_TRACKING_TOKEN, are what it is asked with";
  throw Refusal(text, answer.status, code);
}

Json MLflowServer::call(const char *method, const std::string &what,
                        const Json &body) {
  HttpRequest request{method, settings.uri + "/api/2.0/mlflow/" + what, "", ""};
  if (!body.is_null())
    request.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string name = what.substr(0, what.find('?'));
  Json json = Json::parse(answerTo(request, name), nullptr, false);
  if (!json.is_object())
    throw Refusal(concat("MLflow at ", settings.shown,
                         " does not answer as MLflow does, to ", name),
                  200, "");
  return json;
}

/// `read` takes what it needs from an answer that may lack it.
template <typename Read>
static auto taken(const std::string &shown, const char *what, Read read) {
  try {
    return read();
  } catch (const Json::exception &) {
    throw Refusal(concat("MLflow at ", shown,
                         " does not answer as MLflow does, to ", what),
                  200, "");
  }
}

std::string MLflowServer::experiment() {
  if (!settings.experimentId.empty())
    return settings.experimentId;
  if (settings.experimentName.empty())
    return "0"; // the one that there always is
  std::string query = "experiments/get-by-name?experiment_name=" +
                      percentEncoded(settings.experimentName);
  auto byName = [&] {
    Json answer = call("GET", query, {});
    return taken(settings.shown, "experiments/get-by-name", [&] {
      return answer.at("experiment").at("experiment_id").get<std::string>();
    });
  };
  try {
    return byName();
  } catch (const Refusal &refusal) {
    if (refusal.code != "RESOURCE_DOES_NOT_EXIST")
      throw;
  }
  try {
    Json answer =
        call("POST", "experiments/create", {{"name", settings.experimentName}});
    return taken(settings.shown, "experiments/create",
                 [&] { return answer.at("experiment_id").get<std::string>(); });
  } catch (const Refusal &refusal) {
    if (refusal.code != "RESOURCE_ALREADY_EXISTS")
      throw;
    return byName(); // another run has made it meanwhile
  }
}

MLflowRun MLflowServer::createRun(const std::string &experiment,
                                  const MLflowTexts &tags,
                                  const std::string &mark) {
  constexpr const char *markKey = "shardc.run";
  auto read = [&](const char *what, const Json &answer) {
    return taken(settings.shown, what, [&] { return runOf(answer); });
  };
  if (mayHaveCreated) {
    Json found =
        call("POST", "runs/search",
             {{"experiment_ids", {experiment}},
              {"filter", concat("tags.\"", markKey, "\" = '", mark, "'")},
              {"max_results", 1}});
    if (found.contains("runs") && found["runs"].is_array() &&
        !found["runs"].empty())
      return read("runs/search", {{"run", found["runs"][0]}});
  }
  MLflowTexts all = tags;
  all.emplace_back(markKey, mark);
  Json body = {{"experiment_id", experiment},
               {"start_time", milliseconds(secondsSince1970())},
               {"tags", keysAndValues(all, mostTagBytes)}};
  if (!settings.runName.empty())
    body["run_name"] = settings.runName;
  mayHaveCreated = true;
  Json answer = call("POST", "runs/create", body);
  return read("runs/create", answer);
}

MLflowRun MLflowServer::run(const std::string &id) {
  Json answer = call("GET", "runs/get?run_id=" + percentEncoded(id), {});
  return taken(settings.shown, "runs/get", [&] { return runOf(answer); });
}

void MLflowServer::logMetrics(const std::string &id, const Json &metrics) {
  call("POST", "runs/log-batch", {{"run_id", id}, {"metrics", metrics}});
}

void MLflowServer::logParams(const std::string &id, const MLflowTexts &params) {
  for (size_t at = 0; at < params.size(); at += mostParams) {
    MLflowTexts some(params.begin() + at,
                     params.begin() + std::min(at + mostParams, params.size()));
    call("POST", "runs/log-batch",
         {{"run_id", id}, {"params", keysAndValues(some, mostParamBytes)}});
  }
}

void MLflowServer::logTags(const std::string &id, const MLflowTexts &tags) {
  call("POST", "runs/log-batch",
       {{"run_id", id}, {"tags", keysAndValues(tags, mostTagBytes)}});
}

std::multimap<int64_t, double>
MLflowServer::history(const std::string &id, const std::string &metric) {
  std::multimap<int64_t, double> values;
  std::string page;
  do {
    Json answer = call(
        "GET",
        concat("metrics/get-history?run_id=", percentEncoded(id),
               "&metric_key=", percentEncoded(metric), "&max_results=25000",
               page.empty() ? "" : "&page_token=" + percentEncoded(page)),
        {});
    std::string next = taken(settings.shown, "metrics/get-history", [&] {
      for (const Json &each : answer.value("metrics", Json::array())) {
        // A step of 0 may be left out, and protobuf writes int64 as text.
        Json step = each.value("step", Json(0)), value = each.at("value");
        if (value.is_number())
          values.emplace(
              step.is_string()
                  ? std::strtoll(step.get<std::string>().c_str(), nullptr, 10)
                  : wholeNumber<int64_t>(step),
              value.get<double>());
      }
      return answer.value("next_page_token", "");
    });
    if (next == page)
      break; // an older server has no pages
    page = next;
  } while (!page.empty());
  return values;
}

void MLflowServer::setStatus(const std::string &id, const std::string &status) {
  Json body = {{"run_id", id}, {"status", status}};
  if (status != "RUNNING")
    body["end_time"] = milliseconds(secondsSince1970());
  call("POST", "runs/update", body);
}

std::string MLflowServer::addressOf(const MLflowRun &run,
                                    const std::string &name) const {
  constexpr const char *proxy = "/api/2.0/mlflow-artifacts/artifacts";
  std::string end = "/" + percentEncoded(name);
  const std::string &uri = run.artifacts;
  if (uri.starts_with("http://") || uri.starts_with("https://"))
    return uri.find(proxy) == std::string::npos ? "" : uri + end;
  constexpr std::string_view scheme = "mlflow-artifacts:";
  if (!uri.starts_with(scheme))
    return "";
  std::string rest = uri.substr(scheme.size());
  if (!rest.starts_with("//"))
    return settings.uri + proxy + rest + end;
  size_t path = rest.find('/', 2);
  if (path == std::string::npos)
    return "";
  std::string server = rest.substr(2, path - 2);
  if (server.empty())
    server = settings.uri;
  else
    server = settings.uri.substr(0, settings.uri.find("://") + 3) + server;
  return server + proxy + rest.substr(path) + end;
}

void MLflowServer::upload(const std::string &address, const std::string &file) {
  answerTo({"PUT", address, "", file}, "an artifact");
}

} // namespace shardc::runtime
