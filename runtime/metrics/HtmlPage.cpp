// --html: a page that shows a run.
#include "runtime/metrics/HtmlPage.h"

#include "runtime/base/Error.h"
#include "runtime/base/JsonInHtml.h"
#include "runtime/files/OutputFile.h"
#include "runtime/metrics/Process.h"

#include <fstream>
#include <iterator>
#include <string_view>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

namespace {

constexpr double writeInterval = 60; // seconds

constexpr std::string_view page =
#include "runtime/metrics/Page.inc"
    ;
/// Where the run stands in it, and what stands around that.
constexpr std::string_view place = "{\"shardc\": \"run\"}";
constexpr std::string_view opening =
    "<script type=\"application/json\" id=\"run\">";

/// JSON that ends no element of HTML, whatever its texts hold.
std::string inHtml(const Json &json) {
  return jsonInHtml(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

} // namespace

HtmlPage::HtmlPage(Terminal &terminal, std::string given, Facts facts,
                   bool goesOn)
    : terminal(terminal), path(std::move(given)), facts(std::move(facts)),
      goesOn(goesOn) {
  OutputFile check(path);
}

HtmlPage::~HtmlPage() {
  if (status != "running")
    return;
  status = "failed";
  write();
}

void HtmlPage::readFormer() {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t begin = text.find(opening);
  if (begin == std::string::npos)
    return;
  begin += opening.size();
  try {
    Json former =
        Json::parse(text.substr(begin, text.find("</script>", begin) - begin));
    std::map<std::string, Curve> read;
    for (const auto &[name, curve] : former.at("curves").items()) {
      Curve known = Curve::parse(curve);
      known.cutBehind(run.firstStep);
      read.emplace(name, std::move(known));
    }
    for (const auto &[name, value] : former.at("seconds").items()) {
      seconds[name] = value.get<double>();
      before += seconds[name];
    }
    former.at("started").get_to(started);
    curves = std::move(read);
  } catch (const Json::exception &) {
    // Something else than a page of ours, or a damaged one.
    seconds.clear();
    before = 0;
  }
}

void HtmlPage::begin(const RunFigures &figures) {
  run = figures;
  status = "running";
  stepsDone = figures.firstStep;
  if (goesOn)
    readFormer();
  if (started == 0)
    started = secondsSince1970();
  begun = monotonicSeconds();
  write();
}

void HtmlPage::step(const StepFigures &figures) {
  stepsDone = figures.step + 1;
  curves["loss"].add(stepsDone, figures.loss);
  curves["grad_norm"].add(stepsDone, figures.gradientNorm);
  curves["learning_rate"].add(stepsDone, figures.learningRate);
  curves["throughput"].add(stepsDone, figures.perSecond);
  seconds["data"] += figures.dataSeconds;
  seconds["steps"] += figures.seconds - figures.dataSeconds;
  writeSometimes();
}

void HtmlPage::evaluation(const EvaluationFigures &figures) {
  curves["eval_loss"].add(figures.stepsDone, figures.loss);
  for (const EvaluationMetric &metric : figures.metrics)
    if (metric.name != "perplexity") // which is the loss once more
      curves["eval_" + metric.name].add(figures.stepsDone, metric.value);
  seconds["evaluation"] += figures.seconds;
  writeSometimes();
}

void HtmlPage::checkpoint(const CheckpointFigures &figures) {
  seconds["checkpoints"] += figures.waitedSeconds;
  write(); // whoever goes on from there finds the curves up to there
}

void HtmlPage::end(const EndFigures &figures) {
  status = figures.interrupted ? "stopped" : "finished";
  if (figures.summary.contains("step_milliseconds"))
    profile = figures.summary["step_milliseconds"];
  write();
}

Json HtmlPage::json() const {
  Json lines = Json::object(), parts = Json::object();
  for (const auto &[name, curve] : curves)
    lines[name] = curve.json();
  double known = 0;
  for (const auto &[name, value] : seconds)
    known += name == "other" ? 0 : value;
  for (const auto &[name, value] : seconds)
    parts[name] = value;
  double all = before + (monotonicSeconds() - begun);
  parts["other"] = std::max(0.0, all - known);
  return {{"format", "shardc run"},
          {"version", 1},
          {"status", status},
          {"started", started},
          {"updated", secondsSince1970()},
          {"unit", run.unit},
          {"step", stepsDone},
          {"steps", run.steps},
          {"command", facts.command},
          {"description", facts.description},
          {"memory", facts.memory},
          {"seconds", parts},
          {"step_milliseconds", profile},
          {"curves", lines}};
}

std::string HtmlPage::text() const {
  size_t at = page.find(place);
  return concat(page.substr(0, at), inHtml(json()),
                page.substr(at + place.size()));
}

void HtmlPage::writeSometimes() {
  if (monotonicSeconds() - written >= writeInterval)
    write();
}

void HtmlPage::write() {
  written = monotonicSeconds();
  try {
    OutputFile file(path);
    std::string bytes = text();
    file.write(bytes.data(), bytes.size());
    file.commit(status == "running" ? OutputFile::Sync::No
                                    : OutputFile::Sync::Yes);
  } catch (const Error &error) {
    if (!std::exchange(warned, true))
      terminal.warning(std::string(error.what()) +
                       "; the run goes on and tries again");
  }
}

} // namespace shardc::runtime
