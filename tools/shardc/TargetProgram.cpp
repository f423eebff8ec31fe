// The phases that know a target.
#include "tools/shardc/TargetProgram.h"

#include "passes/analyses/MarkedSums.h"
#include "passes/options/Mesh.h"
#include "tools/shardc/CompilerFiles.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/Files.h"
#include "tools/shardc/Reports.h"
#include "tools/shardc/TimelineFile.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

#include <thread>

using namespace mlir;

namespace shardc {

bool TargetProgram::fail(llvm::Error error) const {
  printError(llvm::toString(std::move(error)));
  return false;
}

bool TargetProgram::resolveTarget(int64_t threadsPerRank) {
  auto resolved = Target::resolve(
      targetName, {common.options.cpu, threadsPerRank, common.cache});
  if (!resolved)
    return fail(resolved.takeError());
  target = std::move(*resolved);
  return true;
}

/// This machine's cores over the ranks, since they all run here without a
/// launcher.
int64_t TargetProgram::threadsPerRank() const {
  if (common.options.threadsPerRank)
    return common.options.threadsPerRank;
  return std::max<int64_t>(1,
                           std::thread::hardware_concurrency() / report.ranks);
}

PhaseSettings TargetProgram::settings() const {
  const std::string &cluster = common.options.cluster;
  const std::string &prefetch = common.options.prefetch;
  // A parameter's elements have two bytes at least.
  return {cluster.empty() ? target->defaultCluster().str() : cluster,
          target->name(),
          prefetch.empty() ? target->defaultPrefetch().str() : prefetch,
          report.ranks ? threadsPerRank() : 1,
          std::max<int64_t>(target->argumentAlignment() / 2, 1),
          target->mergesProducts()};
}

bool verifies(const Options &options, Phase phase) {
#ifndef NDEBUG
  return true;
#endif
  return phase == Phase::Shard || phase == options.compileTo ||
         !options.dumpPhasesTo.empty();
}

static func::FuncOp modelOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("model");
}

void TargetProgram::followSamples() {
  llvm::Expected<MeshShape> mesh = parseMesh(common.options.mesh);
  if (!mesh)
    return llvm::consumeError(mesh.takeError()); // told by the next pass
  func::FuncOp model = modelOf(*module);
  if (mesh->ranks() == 1 || !model || !common.importLarger)
    return;
  SampleSums own(model);
  const bool isOwnLoss = StringRef(common.options.loss).empty() ||
                         StringRef(common.options.loss).starts_with("output:");
  // Of one sample dims do not tell where it is.
  if (own.uses().empty() && own.mixing().empty() &&
      !(own.samples() == 1 && isOwnLoss))
    return;
  KeptDiagnostics kept(/*keepsWarnings=*/true);
  llvm::scope_exit forget([this] { common.diagnostics.forgetErrors(); });
  OwningOpRef<ModuleOp> larger[2];
  for (auto [i, times] : {std::pair(0, 2), std::pair(1, 4)}) {
    larger[i] = common.importLarger(times);
    if (!larger[i] || !runPasses(Phase::Raise, *larger[i]))
      return markSums(model, own);
  }
  markSums(model, SampleSums(modelOf(*larger[0])),
           SampleSums(modelOf(*larger[1])), mesh->ranks());
}

bool TargetProgram::runPasses(Phase phase) { return runPasses(phase, *module); }

bool TargetProgram::runPasses(Phase phase, ModuleOp on) {
  PassManager manager(&common.context);
  manager.enableTiming(phaseTime);
  // Once at the end, not after every pass: half of the time that a deep model
  // takes would go there.
  manager.enableVerifier(false);
  buildPhase(manager, phase, common.options, settings());
  return succeeded(manager.run(on)) &&
         (!verifies(common.options, phase) || succeeded(verify(on))) &&
         !common.diagnostics.hadError();
}

void TargetProgram::loadDialectsOfPlanPasses() {
  PassManager manager(&common.context);
  buildPhase(manager, Phase::Plan, common.options, settings());
  DialectRegistry registry;
  manager.getDependentDialects(registry);
  common.context.appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    common.context.getOrLoadDialect(name);
}

bool TargetProgram::runPhase(Phase phase) {
  const Options &options = common.options;
  switch (phase) {
  case Phase::Raise:
    if (!runPasses(phase))
      return false;
    followSamples();
    return true;
  case Phase::Train:
    return runPasses(phase);
  case Phase::Shard:
    if (!runPasses(phase))
      return false;
    // Later phases turn collectives into plan entries; here they still have
    // their names.
    collectSharding(*module, report);
    // How many threads a rank has is known with the mesh.
    return resolveTarget(threadsPerRank());
  case Phase::Kernels:
    if (!runPasses(phase))
      return false;
    // They are compiled while the plan is made: no dialect may be loaded from
    // there on.
    loadDialectsOfPlanPasses();
    if (options.compileTo == Phase::Trainer || !options.kernels.empty())
      compilation = target->compile(module->lookupSymbol<ModuleOp>("kernels"));
    return options.compileTo != Phase::Kernels || !compilation ||
           finishKernels();
  case Phase::Plan:
    return runPasses(phase) && (options.compileTo != Phase::Plan ||
                                !compilation || finishKernels());
  case Phase::Import:
  case Phase::Trainer:
    break;
  }
  llvm_unreachable("a phase that no target has");
}

bool TargetProgram::run(OwningOpRef<ModuleOp> imported) {
  module = std::move(imported);
  const Options &options = common.options;
  for (Phase phase : {Phase::Raise, Phase::Train, Phase::Shard, Phase::Kernels,
                      Phase::Plan}) {
    if (phase > options.compileTo)
      break;
    phaseTime = common.timing.nest(infoOf(phase).name);
    if (!runPhase(phase))
      return false;
    if (llvm::Error error = showPhase(options, phase, *module, fileSuffix))
      return fail(std::move(error));
  }
  return true;
}

bool TargetProgram::takeKernels() {
  auto compiled = compilation->take();
  if (!compiled)
    return fail(compiled.takeError());
  kernels = std::move(*compiled);
  if (std::string warning = kernels->warning(); !warning.empty())
    emitWarning(module->getLoc()) << warning;
  return true;
}

bool TargetProgram::writeKernels() const {
  const std::string &folder = common.options.kernels;
  if (folder.empty())
    return true;
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return fail(llvm::createStringError(
        code, "%s: %s; --kernels needs a folder that can be written",
        folder.c_str(), code.message().c_str()));
  for (auto [name, bytes] : kernels->files())
    if (llvm::Error error = writeFile(folder + "/" + name, bytes))
      return fail(std::move(error));
  return true;
}

bool TargetProgram::plan(const EmitOptions &options) {
  phaseTime = common.timing.nest(infoOf(Phase::Trainer).name);
  auto emitted = emitPlan(*module, options);
  if (!emitted)
    return fail(emitted.takeError());
  message = std::move(*emitted);
  collectPlan(message->plan, *module, report);
  if (llvm::Error error = checkMemoryLimit(common.options, report))
    return fail(std::move(error));
  if (llvm::Error error = addTimeline(*module, settings().cluster,
                                      common.options, fileSuffix, report))
    return fail(std::move(error));
  return true;
}

llvm::Expected<record::StepRecord> TargetProgram::record() {
  auto machine = Cluster::load(settings().cluster);
  if (!machine)
    return machine.takeError();
  return record::recordStep(*module, CostModel(*machine));
}

bool TargetProgram::emit(const EmitOptions &options) {
  if (!plan(options) || !takeKernels())
    return false;
  *message->plan.mutable_target() = kernels->describe();
  return true;
}

} // namespace shardc
