// The page's data; what draws them is report/page.html.
#include "tools/shardc/ReportPage.h"

#include "runtime/base/JsonInHtml.h"
#include "runtime/base/PoolNames.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace shardc {

static constexpr StringLiteral page =
#include "tools/shardc/Page.inc"
    ;

bool reportsAsPage(const Options &options) {
  return StringRef(options.report).ends_with(".html");
}

static json::Object toJson(const record::Entry &entry) {
  return json::Object{{"name", entry.name},
                      {"phase", entry.phase},
                      {"unit", entry.unit},
                      {"begin", entry.begin},
                      {"end", entry.end}};
}

static json::Object toJson(const record::Buffer &buffer) {
  return json::Object{{"kind", buffer.kind},
                      {"unit", buffer.unit},
                      {"bytes", buffer.bytes},
                      {"first", buffer.first},
                      {"last", buffer.last}};
}

static json::Object toJson(const record::Collective &collective) {
  return json::Object{
      {"what", collective.what},   {"stream", collective.stream},
      {"begin", collective.begin}, {"end", collective.end},
      {"wait", collective.wait},   {"waited", collective.waited}};
}

static json::Object toJson(const ReportedPlan &plan) {
  json::Array entries, buffers, collectives;
  for (const record::Entry &entry : plan.step.entries)
    entries.push_back(toJson(entry));
  // What is no memory of the device, or not of every run, is not drawn.
  for (const record::Buffer &buffer : plan.step.buffers)
    if (!runtime::isAccumulationPool(buffer.pool) &&
        !runtime::isHostPool(buffer.pool))
      buffers.push_back(toJson(buffer));
  for (const record::Collective &collective : plan.step.collectives)
    collectives.push_back(toJson(collective));
  return json::Object{
      {"target", plan.target},         {"report", shardc::toJson(plan.report)},
      {"seconds", plan.step.seconds},  {"entries", std::move(entries)},
      {"buffers", std::move(buffers)}, {"collectives", std::move(collectives)},
      {"pareto", toJson(plan.points)}};
}

std::string reportPage(const Options &options, ArrayRef<ReportedPlan> plans) {
  json::Array list;
  for (const ReportedPlan &plan : plans)
    list.push_back(toJson(plan));
  json::Object data{
      {"title", sys::path::filename(options.model)},
      {"about", "mesh " + options.mesh + ", " + options.precision},
      {"plans", std::move(list)}};
  auto [before, after] = page.split("%data%");
  return before.str() +
         runtime::jsonInHtml(
             formatv("{0}", json::Value(std::move(data))).str()) +
         after.str();
}

} // namespace shardc
