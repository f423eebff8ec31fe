// --trace: the ranks' events as JSON. One event per line, so that a long trace
// need not be built in memory.
#include "runtime/metrics/Trace.h"

#include "runtime/base/EntryKind.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

namespace {

class Writer {
public:
  explicit Writer(OutputFile &file) : file(file) {
    put("{\"traceEvents\":[\n");
  }
  void event(const Json &json) {
    put((first ? "" : ",\n") +
        json.dump(-1, ' ', false, Json::error_handler_t::replace));
    first = false;
  }
  void end() { put("\n],\"displayTimeUnit\":\"ms\"}\n"); }

private:
  void put(const std::string &text) { file.write(text.data(), text.size()); }
  OutputFile &file;
  bool first = true;
};

Json metadata(const char *what, int rank, int thread, const std::string &name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", rank},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

Json describe(const plan::Entry &entry) {
  Json args = Json::object();
  if (!entry.unit().empty())
    args["unit"] = entry.unit();
  args["phase"] = entry.phase();
  if (entry.flops() > 0)
    args["flops"] = entry.flops();
  if (entry.nodes_size())
    args["nodes"] =
        std::vector<std::string>(entry.nodes().begin(), entry.nodes().end());
  return args;
}

} // namespace

void Trace::write(const plan::Plan &plan, const std::vector<RankRecord> &ranks,
                  const std::vector<Span> &spans) {
  double origin = std::numeric_limits<double>::max();
  for (const Span &span : spans)
    origin = std::min(origin, span.begin);
  for (const RankRecord &rank : ranks)
    for (const EntryEvent &event : rank.events)
      origin = std::min(origin, event.begin);
  auto microseconds = [&](double seconds) { return (seconds - origin) * 1e6; };

  Writer writer(file);
  for (const RankRecord &rank : ranks) {
    int id = rank.rank;
    writer.event(metadata("process_name", id, 0, "rank " + std::to_string(id)));
    writer.event(metadata("thread_name", id, 0, "entries"));
    // Starts that are not waited for yet, by collective.
    std::map<uint32_t, EntryEvent> begun;
    int64_t number = 0;
    for (const EntryEvent &event : rank.events) {
      const plan::Entry &entry = plan.train().entries(event.entry);
      writer.event({{"name", entry.name()},
                    {"cat", workKind(entry)},
                    {"ph", "X"},
                    {"ts", microseconds(event.begin)},
                    {"dur", (event.end - event.begin) * 1e6},
                    {"pid", id},
                    {"tid", 0},
                    {"args", describe(entry)}});
      std::optional<uint32_t> collective = collectiveToken(entry);
      if (!collective)
        continue;
      if (!entry.has_wait()) {
        begun[*collective] = event;
        continue;
      }
      auto start = begun.find(*collective);
      if (start == begun.end())
        continue; // skipped in this micro-batch
      const plan::Entry &what = plan.train().entries(start->second.entry);
      for (bool begins : {true, false})
        writer.event(
            {{"name", what.name()},
             {"cat", "in flight"},
             {"ph", begins ? "b" : "e"},
             {"id", number},
             {"ts", microseconds(begins ? start->second.begin : event.end)},
             {"pid", id},
             {"tid", 1}});
      ++number;
      begun.erase(start);
    }
  }
  for (const Span &span : spans)
    writer.event({{"name", span.name},
                  {"cat", "loop"},
                  {"ph", "X"},
                  {"ts", microseconds(span.begin)},
                  {"dur", (span.end - span.begin) * 1e6},
                  {"pid", 0},
                  {"tid", 2}});
  writer.event(metadata("thread_name", 0, 2, "steps"));
  writer.end();
  file.commit();
}

} // namespace shardc::runtime
