// Points of memory and time, and their picture in text.
#include "tools/shardc/Pareto.h"

#include "passes/analyses/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace shardc {

std::vector<std::string> paretoPolicies() {
  return {"none",   "cheap",  "all",     "selective", "unit",   "time=1",
          "time=2", "time=5", "time=10", "time=15",   "time=20"};
}

void addPoint(std::vector<ParetoPoint> &points, const std::string &policy,
              const CompileReport &report) {
  const CompileReport::Remat &remat = *report.memory->remat;
  ParetoPoint point{policy, report.memory->peakBytes, remat.keptBytes,
                    remat.recomputedSeconds, remat.stepSeconds};
  if (none_of(points, [&](const ParetoPoint &other) {
        return other.memoryBytes == point.memoryBytes &&
               other.keptBytes == point.keptBytes &&
               other.seconds == point.seconds;
      }))
    points.push_back(std::move(point));
}

static bool isBest(const ParetoPoint &point, ArrayRef<ParetoPoint> all) {
  return none_of(all, [&](const ParetoPoint &other) {
    return other.memoryBytes <= point.memoryBytes &&
           other.seconds <= point.seconds &&
           (other.memoryBytes < point.memoryBytes ||
            other.seconds < point.seconds);
  });
}

void printPareto(raw_ostream &os, std::vector<ParetoPoint> points) {
  constexpr int64_t width = 24; // of the longest bar
  stable_sort(points, [](const ParetoPoint &a, const ParetoPoint &b) {
    return a.seconds < b.seconds;
  });
  int64_t most = 1;
  for (const ParetoPoint &point : points)
    most = std::max(most, point.memoryBytes);
  os << "memory against time, of a rank (*: none takes less of both)\n";
  os << formatv("  {0,-12}{1,12}{2,12}{3,12}{4,11}\n", "remat", "memory",
                "kept", "again", "of step");
  for (const ParetoPoint &point : points) {
    auto length = static_cast<size_t>(std::max<int64_t>(
        1, width * (point.memoryBytes / 1024) / (most / 1024 + 1)));
    double share =
        point.stepSeconds > 0 ? 100 * point.seconds / point.stepSeconds : 0;
    os << formatv("  {0,-12}{1,12}{2,12}{3,12}{4,9:f2} % {5} {6}\n",
                  point.policy, bytesText(double(point.memoryBytes)),
                  bytesText(double(point.keptBytes)), timeText(point.seconds),
                  share, isBest(point, points) ? "*" : " ",
                  std::string(length, '#'));
  }
}

json::Array toJson(ArrayRef<ParetoPoint> points) {
  json::Array list;
  for (const ParetoPoint &point : points)
    list.push_back(json::Object{{"policy", point.policy},
                                {"memory_bytes", point.memoryBytes},
                                {"kept_bytes", point.keptBytes},
                                {"recomputed_seconds", point.seconds},
                                {"step_seconds", point.stepSeconds},
                                {"on_front", isBest(point, points)}});
  return list;
}

} // namespace shardc
