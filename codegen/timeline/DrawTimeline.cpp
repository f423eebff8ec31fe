// Bars in lanes, and events in threads.
#include "codegen/timeline/DrawTimeline.h"

#include "codegen/step/EntryNames.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using llvm::ArrayRef;
using llvm::formatv;
using llvm::raw_ostream;
using llvm::raw_string_ostream;
using llvm::StringLiteral;
using llvm::StringMap;
using llvm::StringRef;
using llvm::zip;
namespace json = llvm::json;

namespace shardc::timeline {

namespace {

/// An interval in a lane.
struct Bar {
  size_t lane = 0;
  Span span;
  std::string text, phase;
};

/// Lanes: 0 computes, then the streams, and last what is waited for.
size_t laneCount(const TimedProgram &program) {
  return program.streams.size() + 2;
}

std::string laneName(const TimedProgram &program, size_t lane) {
  return lane == 0                        ? "compute"
         : lane <= program.streams.size() ? program.streams[lane - 1]
                                          : "waiting";
}

std::string nameOf(mlir::Operation *entry) {
  auto name = entry->getLoc()->findInstanceOf<mlir::NameLoc>();
  return step::entryKind(entry) + (name ? " " + name.getName().str() : "");
}

/// `merges`: entries of one unit and phase are one bar.
std::vector<Bar> barsOf(const Drawing &drawing, bool merges) {
  const TimedProgram &program = drawing.program;
  std::vector<Bar> bars;
  for (auto [step, entry, span] :
       zip(program.steps, program.entries, drawing.timeline.steps)) {
    if (step.kind != Step::Compute && span.seconds() > 0)
      bars.push_back({program.streams.size() + 1, span,
                      nameCollective(program.starts[step.collective]).text(),
                      "waiting"});
    if (step.kind != Step::Compute || span.seconds() <= 0)
      continue;
    std::string phase = step::entryPhase(entry).str();
    std::string text =
        merges ? (step::entryUnit(entry) + " " + phase).str() : nameOf(entry);
    if (merges && !bars.empty() && bars.back().lane == 0 &&
        bars.back().text == text)
      bars.back().span.end = span.end;
    else
      bars.push_back({0, span, text, phase});
  }
  for (auto [collective, start, span] :
       zip(program.collectives, program.starts, drawing.timeline.collectives))
    if (span.seconds() > 0)
      bars.push_back({collective.stream + 1, span, nameCollective(start).text(),
                      step::entryPhase(start).str()});
  return bars;
}

std::string escaped(StringRef text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string summary(const Timeline &timeline) {
  double share =
      timeline.seconds > 0 ? 100 * timeline.exposed / timeline.seconds : 0;
  return formatv("a step: {0}, of it waiting for collectives: {1} ({2:f2} %)",
                 timeText(timeline.seconds), timeText(timeline.exposed), share)
      .str();
}

constexpr StringLiteral style = R"(
text { font: 12px system-ui, sans-serif; fill: #16181d; }
.soft { fill: #5d636e; } .page { fill: #ffffff; } .lane { fill: #f2f3f1; }
.forward { fill: #2a6fdb; } .backward { fill: #d2601a; }
.optimizer { fill: #1d7a3d; } .waiting { fill: #b3261e; } .none { fill: #8a8f99; }
text.label { fill: #ffffff; font-size: 11px; pointer-events: none; }
rect.bar { stroke: #ffffff; stroke-width: 0.4; }
)";

} // namespace

CollectiveName nameCollective(mlir::Operation *start) {
  StringRef kind = start->getName().stripDialect();
  kind.consume_back("_start");
  return {kind, step::entryPhase(start), step::entryUnit(start)};
}

std::string CollectiveName::text() const {
  std::string text = kind.str();
  for (StringRef more : {phase, unit})
    if (!more.empty())
      text += " " + more.str();
  return text;
}

std::vector<WaitSum> waitsOf(const TimedProgram &program,
                             const Timeline &timeline) {
  StringMap<WaitSum> sums;
  for (auto [step, span] : zip(program.steps, timeline.steps)) {
    // What rounding leaves is no wait.
    if (step.kind == Step::Compute || span.seconds() <= 1e-12)
      continue;
    std::string what = nameCollective(program.starts[step.collective]).text();
    WaitSum &sum = sums[what];
    sum.what = what;
    ++sum.count;
    sum.seconds += span.seconds();
  }
  std::vector<WaitSum> list;
  for (auto &sum : sums)
    list.push_back(std::move(sum.second));
  llvm::sort(list, [](const WaitSum &a, const WaitSum &b) {
    return std::tuple(-a.seconds, a.what) < std::tuple(-b.seconds, b.what);
  });
  return list;
}

std::string traceText(const Drawing &drawing) {
  json::Array events;
  for (size_t lane = 0; lane < laneCount(drawing.program); ++lane) {
    events.push_back(json::Object{
        {"ph", "M"},
        {"name", "thread_name"},
        {"pid", 0},
        {"tid", int64_t(lane)},
        {"args", json::Object{{"name", laneName(drawing.program, lane)}}}});
    events.push_back(
        json::Object{{"ph", "M"},
                     {"name", "thread_sort_index"},
                     {"pid", 0},
                     {"tid", int64_t(lane)},
                     {"args", json::Object{{"sort_index", int64_t(lane)}}}});
  }
  for (const Bar &bar : barsOf(drawing, /*merges=*/false))
    events.push_back(json::Object{{"ph", "X"},
                                  {"name", bar.text},
                                  {"cat", bar.phase},
                                  {"pid", 0},
                                  {"tid", int64_t(bar.lane)},
                                  {"ts", bar.span.begin * 1e6},
                                  {"dur", bar.span.seconds() * 1e6}});
  json::Object trace{
      {"displayTimeUnit", "ms"},
      {"otherData",
       json::Object{{"title", drawing.title},
                    {"step_seconds", drawing.timeline.seconds},
                    {"exposed_seconds", drawing.timeline.exposed}}},
      {"traceEvents", std::move(events)}};
  return formatv("{0}\n", json::Value(std::move(trace))).str();
}

static std::string draw(const Drawing &drawing, bool hasTitle) {
  constexpr double left = 170, width = 1400, height = 34, gap = 8;
  const double top = hasTitle ? 56 : 36;
  const Timeline &timeline = drawing.timeline;
  size_t lanes = laneCount(drawing.program);
  double bottom = top + static_cast<double>(lanes) * (height + gap);
  double scale = timeline.seconds > 0 ? width / timeline.seconds : 0;
  std::string text;
  raw_string_ostream os(text);
  os << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} "
                "{1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
                left + width + 20, bottom + 52)
     << "<style>" << style << "</style>\n"
     << formatv("<title>{0}</title>\n", escaped(drawing.title))
     << "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n"
     << (hasTitle ? formatv("<text x=\"12\" y=\"20\">{0}</text>\n",
                            escaped(drawing.title))
                        .str()
                  : std::string())
     << formatv("<text x=\"12\" y=\"{0}\" class=\"soft\">{1}</text>\n",
                top - 16, summary(timeline));
  for (size_t lane = 0; lane < lanes; ++lane) {
    double y = top + static_cast<double>(lane) * (height + gap);
    os << formatv("<text x=\"12\" y=\"{0}\">{1}</text>\n", y + 21,
                  escaped(laneName(drawing.program, lane)))
       << formatv("<rect class=\"lane\" x=\"{0}\" y=\"{1}\" width=\"{2}\" "
                  "height=\"{3}\"/>\n",
                  left, y, width, height);
  }
  for (const Bar &bar : barsOf(drawing, /*merges=*/true)) {
    double y = top + static_cast<double>(bar.lane) * (height + gap);
    os << formatv(
        "<rect class=\"bar {0}\" x=\"{1:f2}\" y=\"{2}\" "
        "width=\"{3:f2}\" height=\"{4}\"><title>{5}, {6} at "
        "{7}</title></rect>\n",
        bar.phase.empty() ? "none" : bar.phase, left + bar.span.begin * scale,
        y, std::max(0.3, bar.span.seconds() * scale), height, escaped(bar.text),
        timeText(bar.span.seconds()), timeText(bar.span.begin));
    // A letter is 7 wide at most.
    StringRef label = StringRef(bar.text).split(' ').first;
    if (double wide = bar.span.seconds() * scale;
        bar.lane == 0 && !label.empty() &&
        wide > 7 * static_cast<double>(label.size()) + 8)
      os << formatv("<text class=\"label\" x=\"{0:f2}\" y=\"{1}\" "
                    "text-anchor=\"middle\">{2}</text>\n",
                    left + bar.span.begin * scale + wide / 2, y + 21,
                    escaped(label));
  }
  for (int tick = 0; tick <= 10; ++tick)
    os << formatv("<text class=\"soft\" x=\"{0}\" y=\"{1}\" "
                  "text-anchor=\"{2}\">{3}</text>\n",
                  left + width * tick / 10, bottom + 10,
                  tick == 0    ? "start"
                  : tick == 10 ? "end" // else it would be cut off
                               : "middle",
                  tick ? timeText(timeline.seconds * tick / 10) : "0");
  double x = left;
  for (StringRef phase : {"forward", "backward", "optimizer", "waiting"}) {
    os << formatv("<rect class=\"{0}\" x=\"{1}\" y=\"{2}\" width=\"12\" "
                  "height=\"12\"/><text x=\"{3}\" y=\"{4}\">{0}</text>\n",
                  phase, x, bottom + 26, x + 18, bottom + 36);
    x += 110;
  }
  os << "</svg>\n";
  return text;
}

std::string svgText(const Drawing &drawing) {
  return draw(drawing, /*hasTitle=*/true);
}
std::string untitledSvgText(const Drawing &drawing) {
  return draw(drawing, /*hasTitle=*/false);
}

std::string htmlText(const Drawing &drawing) {
  std::string text;
  raw_string_ostream os(text);
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<title>" << escaped(drawing.title) << "</title>\n<style>\n"
     << "h1 { font-size: 20px; } h2 { font-size: 16px; }\n"
     << "body { margin: 16px; font: 14px/1.45 system-ui, sans-serif; color: "
        "#16181d; background: #ffffff; }\n"
     << ".scroll { overflow-x: auto; } table { border-collapse: collapse; }\n"
     << "td, th { padding: 3px 14px 3px 0; text-align: left; border-bottom: "
        "1px solid #e2e3e0; }\n"
     << "</style>\n</head>\n<body>\n<h1>" << escaped(drawing.title)
     << "</h1>\n<div class=\"scroll\">\n"
     << untitledSvgText(drawing) << "</div>\n<h2>Waited for</h2>\n";
  std::vector<WaitSum> waits = waitsOf(drawing.program, drawing.timeline);
  if (waits.empty())
    os << "<p>Nothing: every collective ends before it is needed.</p>\n";
  else
    os << "<table>\n<tr><th>collective</th><th>times</th><th>seconds</th>"
          "<th>of the step</th></tr>\n";
  for (const WaitSum &wait : waits)
    os << formatv("<tr><td>{0}</td><td>{1}</td><td>{2}</td><td>{3:f2} "
                  "%</td></tr>\n",
                  escaped(wait.what), wait.count, timeText(wait.seconds),
                  100 * wait.seconds / drawing.timeline.seconds);
  os << (waits.empty() ? "" : "</table>\n") << "</body>\n</html>\n";
  return text;
}

} // namespace shardc::timeline
