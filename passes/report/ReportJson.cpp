// The report as JSON for programs.
#include "passes/report/Report.h"

using namespace shardc;

static llvm::json::Value toJson(const CompileReport::Unit &unit) {
  return llvm::json::Object{
      {"name", unit.name},
      {"parameters", llvm::json::Array(unit.parameters)},
      {"elements", unit.elements},
      {"padding", unit.padding},
      {"bytes", unit.bytes},
      {"dtype", unit.dtype},
      {"gradient_dtype", unit.gradientDtype},
      {"master_dtype", unit.masterDtype},
      {"trained", unit.trained},
      {"reshard", unit.reshard},
      {"stays", unit.stays},
      {"reason", unit.reason},
      {"per_rank", llvm::json::Object{{"parameters", unit.parameterBytes},
                                      {"master", unit.masterBytes},
                                      {"optimizer", unit.optimizerBytes},
                                      {"gradients", unit.gradientBytes}}}};
}

static llvm::json::Value toJson(const CompileReport::Collective &collective) {
  return llvm::json::Object{{"kind", collective.kind},
                            {"phase", collective.phase},
                            {"unit", collective.unit.empty()
                                         ? llvm::json::Value(nullptr)
                                         : llvm::json::Value(collective.unit)},
                            {"dtype", collective.dtype},
                            {"bytes", collective.bytes},
                            {"group", collective.group},
                            {"ranks", collective.groupSize},
                            {"last", collective.last},
                            {"first", collective.first}};
}

llvm::json::Value shardc::toJson(const CompileReport &report) {
  llvm::json::Array units, collectives, dims;
  for (const CompileReport::Dim &dim : report.mesh)
    dims.push_back(llvm::json::Object{{"name", dim.name}, {"size", dim.size}});
  for (const CompileReport::Unit &unit : report.units)
    units.push_back(::toJson(unit));
  for (const CompileReport::Collective &collective : report.collectives)
    collectives.push_back(::toJson(collective));
  llvm::json::Object object{{"mesh", report.meshText()},
                            {"dims", std::move(dims)},
                            {"strategy", report.strategy},
                            {"meaning", meaningOf(report)},
                            {"ranks", report.ranks},
                            {"shards", report.shards},
                            {"optimizer_shards", report.optimizerShards},
                            {"accumulate", report.accumulate},
                            {"update", report.update},
                            {"units", std::move(units)},
                            {"collectives", std::move(collectives)}};
  if (report.loss)
    object["loss"] = llvm::json::Object{{"kind", report.loss->kind},
                                        {"reduction", report.loss->reduction},
                                        {"labels", report.loss->labels}};
  if (report.memory) {
    llvm::json::Object pools, kinds;
    for (const CompileReport::Pool &pool : report.memory->pools) {
      pools[pool.name] = pool.bytes;
      for (const CompileReport::Kind &kind : pool.kinds)
        kinds[kind.name] = kind.bytes;
    }
    object["memory"] = llvm::json::Object{
        {"pools", std::move(pools)},
        {"kinds", std::move(kinds)},
        {"peak_bytes", report.memory->peakBytes},
        {"live_bound_bytes", report.memory->liveBoundBytes},
        {"accumulation_bytes", report.memory->accumulationBytes}};
    if (report.memory->remat)
      object["remat"] = llvm::json::Object{
          {"policy", report.memory->remat->policy},
          {"read_bytes", report.memory->remat->readBytes},
          {"kept_bytes", report.memory->remat->keptBytes},
          {"recomputed_bytes", report.memory->remat->recomputedBytes},
          {"recomputed_flops", report.memory->remat->recomputedFlops},
          {"recomputed_seconds", report.memory->remat->recomputedSeconds},
          {"step_seconds", report.memory->remat->stepSeconds},
          {"regathered_units", report.memory->remat->regatheredUnits}};
  }
  if (report.timeline) {
    llvm::json::Array waits;
    for (const CompileReport::Timeline::Wait &wait : report.timeline->waits)
      waits.push_back(llvm::json::Object{{"what", wait.what},
                                         {"count", wait.count},
                                         {"seconds", wait.seconds}});
    object["timeline"] =
        llvm::json::Object{{"cluster", report.timeline->cluster},
                           {"step_seconds", report.timeline->seconds},
                           {"exposed_seconds", report.timeline->exposedSeconds},
                           {"waits", std::move(waits)}};
  }
  if (report.flopsPerStep)
    object["flops_per_step"] = *report.flopsPerStep;
  if (report.kernels)
    object["kernels"] = *report.kernels;
  if (report.compileSeconds)
    object["compile_seconds"] = *report.compileSeconds;
  return object;
}
