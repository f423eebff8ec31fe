// The report as text for people.
#include "passes/report/Report.h"

#include "passes/analyses/CostModel.h"
#include "runtime/base/LossKinds.h"
#include "runtime/base/PoolNames.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;
using namespace shardc;

/// "16 slices over all ranks", "8 slices over dimension shard".
static std::string slices(const CompileReport &report, int64_t count,
                          ArrayRef<int64_t> dims) {
  if (dims.size() == report.mesh.size())
    return llvm::formatv("{0} slices over all ranks", count).str();
  return llvm::formatv("{0} slice{1} over dimension {2}", count,
                       count == 1 ? "" : "s", report.mesh[dims[0]].name)
      .str();
}

std::string shardc::meaningOf(const CompileReport &report) {
  if (report.ranks == 1)
    return "one rank holds everything, no communication";
  if (report.optimizerDims.empty())
    return llvm::formatv("every one of {0} ranks holds all parameters, "
                         "gradients and optimizer state",
                         report.ranks)
        .str();
  std::string optimizer =
      slices(report, report.optimizerShards, report.optimizerDims);
  if (report.shardDims.empty())
    return "every rank holds all parameters; reduced gradients and optimizer "
           "state in " +
           optimizer;
  std::string parameters = slices(report, report.shards, report.shardDims);
  if (report.shardDims.size() < report.mesh.size())
    parameters +=
        ", replicated over " + report.mesh[1 - report.shardDims[0]].name;
  std::string text =
      report.shardDims == report.optimizerDims
          ? "parameters, gradients and optimizer state in " + parameters
          : "parameters in " + parameters +
                "; reduced gradients and optimizer state in " + optimizer;
  if (StringRef(report.strategy).ends_with("grad_op"))
    text += "; parameters stay gathered until backward";
  return text;
}

/// What stays of gathered parameters between forward and backward.
static std::string reshardText(const CompileReport &report) {
  std::vector<std::string> kept;
  auto staying = llvm::count_if(
      report.units, [](const CompileReport::Unit &unit) { return unit.stays; });
  std::string end =
      staying == 0 ? "\n"
      : staying == static_cast<int64_t>(report.units.size())
          ? ", over all micro-batches\n"
          : llvm::formatv(", of {0} units over all micro-batches\n", staying)
                .str();
  std::map<int64_t, int64_t> grouped;
  for (const CompileReport::Unit &unit : report.units)
    if (unit.reshard == 1)
      kept.push_back(unit.name);
    else if (unit.reshard < report.shards)
      ++grouped[unit.reshard];
  if (report.shards == 1)
    return "";
  std::string text = "gathered parameters after forward: ";
  if (kept.size() == report.units.size())
    return text + "kept until backward" + end;
  text += "released";
  for (auto [size, count] : grouped)
    text += llvm::formatv(", of {0} units a slice over {1} ranks is kept",
                          count, size)
                .str();
  if (!kept.empty())
    text += ", kept of " + (kept.size() <= 3
                                ? llvm::join(kept, ", ")
                                : std::to_string(kept.size()) + " units");
  return text + end;
}

/// The types of what is trained; units with others follow.
static std::string precisionText(const CompileReport &report) {
  llvm::MapVector<StringRef, int64_t> types;
  std::vector<std::string> texts;
  for (const CompileReport::Unit &unit : report.units)
    texts.push_back(
        unit.trained
            ? llvm::formatv("parameters {0}, gradients {1}, master weights and "
                            "optimizer state {2}{3}",
                            unit.dtype, unit.gradientDtype, unit.masterDtype,
                            unit.splitsMaster ? ", split" : "")
                  .str()
            : "frozen parameters " + unit.dtype);
  for (const std::string &text : texts)
    ++types[text];
  std::string joined;
  for (auto &[text, count] : types)
    joined += (joined.empty() ? "precision: " : "; ") + text.str();
  return joined.empty() ? joined : joined + "\n";
}

static int64_t perRank(const CompileReport::Unit &unit) {
  return unit.parameterBytes + unit.masterBytes + unit.optimizerBytes;
}

/// What the reasons of a repeated block's units have in common.
static std::string withoutNumbers(std::string text) {
  llvm::erase_if(text, [](char c) { return llvm::isDigit(c); });
  return text;
}

static void printUnits(llvm::raw_ostream &os, const CompileReport &report) {
  os << llvm::formatv("{0,-36}{1,12}{2,14}{3,20}{4,12}{5,12}\n", "units",
                      "parameters", "elements", "padding", "gathered",
                      "per rank");
  auto isAlike = [](const CompileReport::Unit &a,
                    const CompileReport::Unit &b) {
    return std::tuple(a.parameters.size(), a.elements, a.padding, a.bytes,
                      a.trained, a.reshard, withoutNumbers(a.reason)) ==
           std::tuple(b.parameters.size(), b.elements, b.padding, b.bytes,
                      b.trained, b.reshard, withoutNumbers(b.reason));
  };
  // Neighbours of equal size share a line: a model of 48 layers has few.
  for (size_t first = 0, next; first < report.units.size(); first = next) {
    const CompileReport::Unit &unit = report.units[first];
    for (next = first + 1;
         next < report.units.size() && isAlike(unit, report.units[next]);)
      ++next;
    std::string name = unit.name;
    if (next - first > 1)
      name += llvm::formatv(" .. {0} (each of {1})",
                            report.units[next - 1].name, next - first)
                  .str();
    std::string padding = llvm::formatv("{0} ({1:f3} %)", unit.padding,
                                        100.0 * unit.padding / unit.elements)
                              .str();
    os << llvm::formatv("  {0,-34}{1,12}{2,14}{3,20}{4,12}{5,12}\n", name,
                        unit.parameters.size(), unit.elements, padding,
                        bytesText(double(unit.bytes)),
                        bytesText(double(perRank(unit))));
    if (!unit.reason.empty())
      os << "    " << unit.reason << "\n";
  }
}

static void printCollectives(llvm::raw_ostream &os,
                             const CompileReport &report) {
  if (report.collectives.empty())
    return;
  struct Sum {
    int64_t count = 0, bytes = 0, groupSize = 1;
  };
  using Key = std::tuple<StringRef, StringRef, StringRef>;
  std::vector<std::pair<Key, Sum>> sums;
  for (const CompileReport::Collective &collective : report.collectives) {
    Key key{collective.kind, collective.phase, collective.group};
    auto found = llvm::find_if(
        sums, [&](const auto &entry) { return entry.first == key; });
    if (found == sums.end())
      found = sums.insert(sums.end(), {key, {0, 0, collective.groupSize}});
    ++found->second.count;
    found->second.bytes += collective.bytes;
  }
  os << "collectives per step\n";
  for (auto &[key, sum] : sums)
    os << llvm::formatv(
        "  {0,-18}{1,-12}{2,-18}{3,8}{4,12}\n", std::get<0>(key),
        std::get<1>(key),
        llvm::formatv("over {0} ({1})", std::get<2>(key), sum.groupSize).str(),
        sum.count, bytesText(double(sum.bytes)));
}

/// "2x8 (replicate=2, shard=8)".
static std::string meshDescription(const CompileReport &report) {
  if (report.mesh.size() < 2)
    return report.meshText();
  return llvm::formatv("{0} ({1}={2}, {3}={4})", report.meshText(),
                       report.mesh[0].name, report.mesh[0].size,
                       report.mesh[1].name, report.mesh[1].size)
      .str();
}

/// "remat cheap: backward keeps 472 MB of 878 MB, computes the rest again:
/// 0.06 % of the step's FLOP, 905 MB read and written; estimated 45 ms, 0.31 %
/// of the step's arithmetic".
static void printRemat(llvm::raw_ostream &os, const CompileReport &report) {
  const std::optional<CompileReport::Remat> &remat = report.memory->remat;
  if (!remat)
    return;
  os << "remat " << remat->policy << ": backward keeps "
     << bytesText(double(remat->keptBytes));
  if (remat->recomputedBytes) {
    os << " of the " << bytesText(double(remat->readBytes))
       << " that it reads, and computes the rest again: ";
    if (report.flopsPerStep)
      os << llvm::formatv("{0:f2} % of the step's FLOP, ",
                          100.0 * remat->recomputedFlops /
                              *report.flopsPerStep);
    os << bytesText(double(remat->recomputedBytes))
       << " read and written; estimated " << timeText(remat->recomputedSeconds);
    if (remat->stepSeconds > 0)
      os << llvm::formatv(", {0:f2} % of the step's arithmetic",
                          100 * remat->recomputedSeconds / remat->stepSeconds);
    if (remat->regatheredUnits)
      os << llvm::formatv(
          "; {0} {1} gathered for it alone", remat->regatheredUnits,
          remat->regatheredUnits == 1 ? "unit is" : "units are");
  }
  os << "\n";
}

/// "estimated step on dgx-h100: 473 ms, of it 6.2 ms (1.30 %) waiting for
/// collectives: 4.1 ms reduce_scatter backward embedding, 2.0 ms all_gather
/// forward embedding".
static void printTimeline(llvm::raw_ostream &os, const CompileReport &report) {
  if (!report.timeline)
    return;
  const CompileReport::Timeline &timeline = *report.timeline;
  os << "estimated step on " << timeline.cluster << ": "
     << timeText(timeline.seconds);
  if (timeline.waits.empty()) {
    os << (report.collectives.empty() ? "\n" : ", waiting for no collective\n");
    return;
  }
  os << llvm::formatv(", of it {0} ({1:f2} %) waiting for collectives: ",
                      timeText(timeline.exposedSeconds),
                      100 * timeline.exposedSeconds / timeline.seconds);
  constexpr size_t most = 3;
  size_t shown = std::min(most, timeline.waits.size());
  llvm::interleaveComma(ArrayRef(timeline.waits).take_front(shown), os,
                        [&](const CompileReport::Timeline::Wait &wait) {
                          os << timeText(wait.seconds) << " " << wait.what;
                        });
  if (timeline.waits.size() > shown)
    os << " and " << timeline.waits.size() - shown << " more";
  os << "\n";
}

/// "loss: cross entropy, the mean over all valid labels of a step".
static std::string lossText(const CompileReport &report) {
  if (!report.loss)
    return "";
  const auto &[kind, reduction, labels, isWeighted] = *report.loss;
  const runtime::LossKind &of = *runtime::findLossKind(kind);
  return llvm::formatv("loss: {0}, the {1} over {2}{3}\n", of.text, reduction,
                       runtime::lossMeanText(of.of),
                       isWeighted ? runtime::weightedText : "")
      .str();
}

void shardc::printReport(llvm::raw_ostream &os, const CompileReport &report) {
  os << "mesh " << meshDescription(report) << ", strategy " << report.strategy
     << ": " << meaningOf(report) << "\n"
     << reshardText(report) << precisionText(report) << lossText(report);
  printUnits(os, report);
  printCollectives(os, report);
  if (report.memory) {
    os << "memory per rank: " << bytesText(double(report.memory->peakBytes))
       << " (alive at once: at least "
       << bytesText(double(report.memory->liveBoundBytes)) << ")\n";
    if (report.memory->accumulationBytes)
      os << "with --grad-accumulation (" << report.accumulate
         << "): " << bytesText(double(report.memory->accumulationBytes))
         << " more\n";
    for (const CompileReport::Pool &pool : report.memory->pools) {
      os << llvm::formatv("  {0,-16}{1,12}\n", pool.name,
                          bytesText(double(pool.bytes)));
      if (pool.kinds.size() > 1 || runtime::isHostPool(pool.name))
        for (const CompileReport::Kind &kind : pool.kinds)
          os << llvm::formatv("    {0,-14}{1,12} at most\n", kind.name,
                              bytesText(double(kind.bytes)));
    }
    printRemat(os, report);
  }
  if (report.flopsPerStep)
    os << "arithmetic per rank and step: "
       << operationsText(*report.flopsPerStep) << "\n";
  printTimeline(os, report);
  if (report.kernels)
    os << "kernels built: " << *report.kernels << "\n";
  if (report.compileSeconds)
    os << llvm::formatv("compiled in {0:f1} s\n", *report.compileSeconds);
}
