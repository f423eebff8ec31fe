// Reports of a plan, as JSON and as text.
#include "tools/shardc/Reports.h"

#include "tools/shardc/Files.h"
#include "tools/shardc/ReportPage.h"

#include "passes/analyses/CostModel.h"
#include "passes/fsdp/FSDP.h"
#include "passes/options/ByteSize.h"
#include "runtime/base/PoolNames.h"
#include "runtime/base/Printable.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shardc {

/// What backward keeps, as nn-remat noted it.
static void collectRemat(ModuleOp module, CompileReport::Memory &memory) {
  if (auto remat = module->getAttrOfType<DictionaryAttr>(nn::rematAttr)) {
    auto number = [&](StringRef name) {
      return remat.getAs<IntegerAttr>(name).getInt();
    };
    auto seconds = [&](StringRef name) {
      return remat.getAs<FloatAttr>(name).getValueAsDouble();
    };
    memory.remat = {
        remat.getAs<StringAttr>("policy").str(),
        number("read_bytes"),
        number("kept_bytes"),
        number("recomputed_bytes"),
        number("recomputed_flops"),
        seconds("recomputed_seconds"),
        seconds("step_seconds"),
        remat.contains("regathered_units") ? number("regathered_units") : 0};
  }
}

void collectPlan(const plan::Plan &plan, ModuleOp module,
                 CompileReport &report) {
  // step-schedule may hold on to what would be gathered in backward.
  const SymbolTable symbols(module);
  llvm::StringSet<> held;
  for (CompileReport::Unit &unit : report.units) {
    int64_t reshard = symbols.lookup<fsdp::UnitOp>(unit.name).getReshard();
    if (unit.reshard != reshard)
      held.insert(unit.name);
    unit.reshard = reshard;
  }
  llvm::erase_if(
      report.collectives, [&](const CompileReport::Collective &collective) {
        return collective.kind == "all_gather" &&
               collective.phase == "backward" && held.contains(collective.unit);
      });
  report.kernels = plan.kernels_size();
  report.flopsPerStep = plan.flops_per_step();
  report.memory.emplace();
  report.memory->liveBoundBytes = plan.live_bound_bytes();
  collectRemat(module, *report.memory);
  for (const plan::Pool &pool : plan.pools()) {
    // There only in runs with several micro-batches per step.
    if (runtime::isAccumulationPool(pool.name())) {
      report.memory->accumulationBytes = pool.bytes();
      continue;
    }
    CompileReport::Pool &reported = report.memory->pools.emplace_back();
    reported.name = pool.name();
    reported.bytes = pool.bytes();
    for (const plan::Pool::Kind &kind : pool.kinds())
      reported.kinds.push_back({kind.name(), kind.bytes()});
    // A file, or the memory of the machine around a device.
    if (!runtime::isHostPool(pool.name()))
      report.memory->peakBytes += pool.bytes();
  }
}

llvm::Error checkMemoryLimit(const Options &options,
                             const CompileReport &report) {
  if (options.memoryLimit.empty())
    return llvm::Error::success();
  std::optional<double> limit = parseByteSize(options.memoryLimit);
  if (!limit)
    return llvm::createStringError("--memory-limit " + options.memoryLimit +
                                   ": expected " + byteSizeForms);
  auto bytes = static_cast<double>(report.memory->peakBytes);
  if (bytes <= *limit)
    return llvm::Error::success();
  return llvm::createStringError(
      "--memory-limit " + options.memoryLimit + ": the plan takes " +
      bytesText(bytes) + " of a rank; try " +
      (options.prefetch.empty() || options.prefetch == "auto"
           ? std::string("--remat unit, ") +
                 (options.offload == "none" ? "--offload auto, " : "") +
                 "a smaller batch, or more ranks"
           : "--prefetch auto"));
}

/// What was decided of tensors whose role the file does not tell.
static llvm::json::Value rolesToJson(ArrayRef<onnx::RoleNote> notes) {
  llvm::json::Array list;
  for (const onnx::RoleNote &note : notes)
    list.push_back(llvm::json::Object{{"name", note.name},
                                      {"trained", note.trained},
                                      {"reason", note.reason}});
  return list;
}

/// What is the target's own.
static llvm::json::Object toJson(const TargetReport &report) {
  llvm::json::Value json = toJson(report.report);
  llvm::json::Object object = std::move(*json.getAsObject());
  object["target"] = report.target;
  if (report.kernels)
    object["compiled_kernels"] = report.kernels->toJson();
  return object;
}

llvm::Error writeReport(const Options &options, ArrayRef<TargetReport> reports,
                        const onnx::ImportDiagnostics &imported) {
  if (!options.report.empty() && !reportsAsPage(options)) {
    llvm::json::Object object = toJson(reports.front());
    object["guessed_roles"] = rolesToJson(imported.roles);
    object["parameters_not_in_graph"] =
        llvm::json::Array(imported.lostParameters);
    if (reports.size() > 1) {
      llvm::json::Array others;
      for (const TargetReport &other : reports.drop_front())
        others.push_back(toJson(other));
      object["other_targets"] = std::move(others);
    }
    llvm::json::Value json = std::move(object);
    if (llvm::Error error =
            writeFile(options.report, llvm::formatv("{0:2}\n", json).str()))
      return error;
  }
  if (!options.quiet) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (const TargetReport &each : reports) {
      if (reports.size() > 1)
        stream << "for " << each.target << ":\n";
      printReport(stream, each.report);
      if (each.kernels)
        each.kernels->print(stream);
    }
    llvm::outs() << runtime::printableLines(text);
  }
  return llvm::Error::success();
}

} // namespace shardc
