// Reads a report from the sharded step, and writes it.
#include "passes/Report.h"

#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shardc;

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

static std::string dtypeName(Type type) {
  if (type.isBF16())
    return "bfloat16";
  return ("float" + Twine(type.getIntOrFloatBitWidth())).str();
}

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

void shardc::collectSharding(ModuleOp module, CompileReport &report) {
  for (auto mesh : module.getOps<fsdp::MeshOp>()) {
    report.mesh.assign(mesh.getDims().begin(), mesh.getDims().end());
    report.strategy = mesh.getStrategy().str();
    report.ranks = mesh.getRanks();
    report.shards = mesh.getShards();
  }
  SymbolTable symbols(module);
  for (auto unit : module.getOps<fsdp::UnitOp>()) {
    CompileReport::Unit &entry = report.units.emplace_back();
    entry.name = unit.getSymName().str();
    for (auto name : unit.getParameters().getAsRange<FlatSymbolRefAttr>())
      entry.parameters.push_back(name.getValue().str());
    entry.elements = unit.getElements();
    entry.padding = unit.getPadding();
    entry.bytes = bytesOf(unit.getFlatType());
    entry.reason = unit.getReason().str();
  }
  auto train = symbols.lookup<func::FuncOp>("train");
  if (!train)
    return;
  auto add = [&](StringRef kind, fsdp::PhaseKind phase, StringRef unit,
                 Type elementType, int64_t bytes) {
    report.collectives.push_back({kind.str(), stringifyPhaseKind(phase).str(),
                                  unit.str(), dtypeName(elementType), bytes});
  };
  auto addUnit = [&](StringRef kind, fsdp::PhaseKind phase, StringRef name) {
    auto unit = symbols.lookup<fsdp::UnitOp>(name);
    add(kind, phase, name, unit.getElementType(), bytesOf(unit.getFlatType()));
  };
  train.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](fsdp::AllGatherStartOp start) {
          addUnit("all_gather", start.getPhase(), start.getUnit());
        })
        .Case([&](fsdp::ReduceScatterStartOp start) {
          addUnit("reduce_scatter", fsdp::PhaseKind::backward, start.getUnit());
        })
        .Case([&](fsdp::AllReduceGradientsStartOp start) {
          addUnit("all_reduce", fsdp::PhaseKind::backward, start.getUnit());
        })
        .Case([&](fsdp::AllReduceStartOp start) {
          int64_t bytes = 0;
          for (Type type : start.getValues().getTypes())
            bytes += bytesOf(type);
          add("all_reduce", start.getPhase(), "",
              getElementTypeOrSelf(start.getValues().getTypes()[0]), bytes);
        });
  });
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// 153.6 MB, 1.2 GB: three or four digits, decimal units.
static std::string readable(double amount, ArrayRef<const char *> units) {
  size_t index = 0;
  for (; amount >= 1000 && index + 1 < units.size(); ++index)
    amount /= 1000;
  return llvm::formatv(index == 0 ? "{0:f0} {1}" : "{0:f1} {1}", amount,
                       units[index])
      .str();
}
static std::string readableBytes(int64_t bytes) {
  return readable(bytes, {"B", "kB", "MB", "GB", "TB"});
}

static std::string meshText(const CompileReport &report) {
  return llvm::join(
      llvm::map_range(report.mesh,
                      [](int64_t size) { return std::to_string(size); }),
      "x");
}

static std::string meaning(const CompileReport &report) {
  if (report.ranks == 1)
    return "one rank holds everything, no communication";
  if (report.shards == 1)
    return llvm::formatv("every one of {0} ranks holds all parameters, "
                         "gradients and optimizer state",
                         report.ranks)
        .str();
  return llvm::formatv(
             "parameters, gradients and optimizer state sharded over {0} ranks",
             report.shards)
      .str();
}

/// What the reasons of a repeated block's units have in common.
static std::string withoutNumbers(std::string text) {
  llvm::erase_if(text, [](char c) { return llvm::isDigit(c); });
  return text;
}

static void printUnits(llvm::raw_ostream &os, const CompileReport &report) {
  os << llvm::formatv("{0,-36}{1,12}{2,14}{3,20}{4,12}{5,12}\n", "units",
                      "parameters", "elements", "padding", "bytes", "per rank");
  auto isAlike = [](const CompileReport::Unit &a,
                    const CompileReport::Unit &b) {
    return std::tuple(a.parameters.size(), a.elements, a.padding, a.bytes,
                      withoutNumbers(a.reason)) ==
           std::tuple(b.parameters.size(), b.elements, b.padding, b.bytes,
                      withoutNumbers(b.reason));
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
                        readableBytes(unit.bytes),
                        readableBytes(unit.bytes / report.shards));
    if (!unit.reason.empty())
      os << "    " << unit.reason << "\n";
  }
}

static void printCollectives(llvm::raw_ostream &os,
                             const CompileReport &report) {
  if (report.collectives.empty())
    return;
  struct Sum {
    int64_t count = 0, bytes = 0;
  };
  llvm::MapVector<std::pair<StringRef, StringRef>, Sum> sums;
  for (const CompileReport::Collective &collective : report.collectives) {
    Sum &sum = sums[{collective.kind, collective.phase}];
    ++sum.count;
    sum.bytes += collective.bytes;
  }
  os << "collectives per step\n";
  for (auto &[key, sum] : sums)
    os << llvm::formatv("  {0,-16}{1,-12}{2,8}{3,12}\n", key.first, key.second,
                        sum.count, readableBytes(sum.bytes));
}

void shardc::printReport(llvm::raw_ostream &os, const CompileReport &report) {
  os << "mesh " << meshText(report) << ", strategy " << report.strategy << ": "
     << meaning(report) << "\n";
  printUnits(os, report);
  printCollectives(os, report);
  if (report.memory) {
    os << "memory per rank: " << readableBytes(report.memory->peakBytes)
       << " (alive at once: at least "
       << readableBytes(report.memory->liveBoundBytes) << ")\n";
    for (const CompileReport::Pool &pool : report.memory->pools)
      os << llvm::formatv("  {0,-16}{1,12}\n", pool.name,
                          readableBytes(pool.bytes));
  }
  if (report.flopsPerStep)
    os << "arithmetic per rank and step: "
       << readable(*report.flopsPerStep,
                   {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"})
       << "\n";
  if (report.kernels)
    os << "kernels built: " << *report.kernels << "\n";
  if (report.compileSeconds)
    os << llvm::formatv("compiled in {0:f1} s\n", *report.compileSeconds);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

llvm::json::Value shardc::toJson(const CompileReport &report) {
  llvm::json::Array units, collectives;
  for (const CompileReport::Unit &unit : report.units)
    units.push_back(
        llvm::json::Object{{"name", unit.name},
                           {"parameters", llvm::json::Array(unit.parameters)},
                           {"elements", unit.elements},
                           {"padding", unit.padding},
                           {"bytes", unit.bytes},
                           {"reason", unit.reason}});
  for (const CompileReport::Collective &collective : report.collectives)
    collectives.push_back(llvm::json::Object{
        {"kind", collective.kind},
        {"phase", collective.phase},
        {"unit", collective.unit.empty() ? llvm::json::Value(nullptr)
                                         : llvm::json::Value(collective.unit)},
        {"dtype", collective.dtype},
        {"bytes", collective.bytes}});
  llvm::json::Object object{{"mesh", meshText(report)},
                            {"strategy", report.strategy},
                            {"ranks", report.ranks},
                            {"units", std::move(units)},
                            {"collectives", std::move(collectives)}};
  if (report.memory) {
    llvm::json::Object pools;
    for (const CompileReport::Pool &pool : report.memory->pools)
      pools[pool.name] = pool.bytes;
    object["memory"] =
        llvm::json::Object{{"pools", std::move(pools)},
                           {"peak_bytes", report.memory->peakBytes},
                           {"live_bound_bytes", report.memory->liveBoundBytes}};
  }
  if (report.flopsPerStep)
    object["flops_per_step"] = *report.flopsPerStep;
  if (report.kernels)
    object["kernels"] = *report.kernels;
  if (report.compileSeconds)
    object["compile_seconds"] = *report.compileSeconds;
  return object;
}
