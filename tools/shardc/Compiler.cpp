// The driver: phases in their order, what is shown and written of them.
#include "tools/shardc/Compiler.h"

#include "codegen/Passes.h"
#include "codegen/Target.h"
#include "codegen/emit/EmitPlan.h"
#include "codegen/emit/WriteTrainer.h"
#include "codegen/lower/LibraryCalls.h"
#include "frontend/nn/NN.h"
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/ImportedModel.h"
#include "passes/Passes.h"
#include "passes/options/PrecisionOption.h"
#include "passes/report/Report.h"
#include "tools/shardc/CompilerFiles.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/Emission.h"
#include "tools/shardc/Files.h"
#include "tools/shardc/Remarks.h"
#include "tools/shardc/Reports.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <thread>

using namespace mlir;
using namespace shardc;

namespace {

using Clock = std::chrono::steady_clock;

class Compiler {
public:
  explicit Compiler(const Options &options)
      : options(options), context(registry()),
        diagnostics(context, llvm::sys::path::filename(options.model).str()) {
    context.loadAllAvailableDialects();
  }

  /// Runs the phases up to the one asked for; false after an error, which has
  /// been printed.
  bool run();

private:
  static DialectRegistry registry();
  bool importModel();
  /// Whether no file is input and output, or two outputs. The model's external
  /// data are known once it is imported.
  bool checkFiles();
  /// Whether the IR is verified at the end of a phase.
  bool verifies(Phase phase) const;
  /// Runs the passes that make up a phase.
  bool runPasses(Phase phase);
  bool runPhase(Phase phase);
  void loadDialectsOfPlanPasses();
  /// What --disable-pass names is there, and will not run.
  bool disablePasses();
  /// What --remarks names will say why.
  bool showRemarks();
  /// The folder of --dump-phases-to.
  bool makeFolder();
  /// Shows the IR after a phase where that was asked for.
  bool show(Phase phase);
  bool resolveTarget(const TargetOptions &with);
  /// Waits for the kernels, and writes those that --kernels asks for.
  bool takeKernels();
  bool emitTrainer();
  /// What the plan adds to the report, and the report.
  bool finish(const plan::Plan &plan);
  /// Writes and prints what was resolved.
  bool writeReport();
  int64_t threadsPerRank();
  /// Of the cost model.
  std::string cluster() const {
    return options.cluster.empty() ? target->defaultCluster().str()
                                   : options.cluster;
  }
  PhaseSettings settings() {
    // A parameter's elements have two bytes at least.
    return {cluster(), target->name(), report.ranks ? threadsPerRank() : 1,
            std::max<int64_t>(target->argumentAlignment() / 2, 1)};
  }
  bool fail(llvm::Error error);

  const Options &options;
  DefaultTimingManager timing;
  TimingScope wholeTime, phaseTime;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  shardc::onnx::ImportDiagnostics imported;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Target> target;
  std::unique_ptr<KernelCompilation> compilation;
  std::unique_ptr<CompiledKernels> kernels;
  std::optional<EmittedPlan> plan;
  CompileReport report;
  Clock::time_point start = Clock::now();
};

DialectRegistry Compiler::registry() {
  DialectRegistry registry;
  registry.insert<nn::NNDialect, fsdp::FSDPDialect, step::StepDialect,
                  func::FuncDialect>();
  registerLibraryCalls(registry);
  return registry;
}

bool Compiler::fail(llvm::Error error) {
  printError(llvm::toString(std::move(error)));
  return false;
}

bool Compiler::checkFiles() {
  SmallVector<std::string> external;
  if (module)
    external = imported.model->file->externalFiles();
  llvm::Error error = shardc::checkFiles(options, external);
  return !error || fail(std::move(error));
}

bool Compiler::importModel() {
  shardc::onnx::ImportOptions import;
  import.path = options.model;
  for (const auto &[name, size] : options.dims)
    import.dims[name] = size;
  import.allowMissingWeights = options.init == "random";
  import.roles = {options.trainable, options.buffers};
  module = shardc::onnx::importOnnx(&context, import, imported);
  if (!module || diagnostics.hadError())
    return false;
  for (const std::string &warning : imported.warnings)
    emitWarning(module->getLoc(), warning);
  return true;
}

/// A release verifies the program once, when it is complete and still made of
/// ops that say what they mean (import has verified what the file became, and
/// step-verify checks the plan), and where somebody reads the IR. Debug builds
/// verify every phase, to name the one that broke it.
bool Compiler::verifies(Phase phase) const {
#ifndef NDEBUG
  return true;
#endif
  return phase == Phase::Shard || phase == options.compileTo ||
         !options.dumpPhasesTo.empty();
}

bool Compiler::runPasses(Phase phase) {
  PassManager manager(&context);
  manager.enableTiming(phaseTime);
  // Once at the end, not after every pass: half of the time that a deep model
  // takes would go there.
  manager.enableVerifier(false);
  buildPhase(manager, phase, options, settings());
  return succeeded(manager.run(*module)) &&
         (!verifies(phase) || succeeded(verify(*module))) &&
         !diagnostics.hadError();
}

void Compiler::loadDialectsOfPlanPasses() {
  PassManager manager(&context);
  buildPhase(manager, Phase::Plan, options, settings());
  DialectRegistry registry;
  manager.getDependentDialects(registry);
  context.appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context.getOrLoadDialect(name);
}

bool Compiler::runPhase(Phase phase) {
  switch (phase) {
  case Phase::Import:
    return importModel();
  case Phase::Raise:
  case Phase::Train:
    return runPasses(phase);
  case Phase::Shard:
    if (!runPasses(phase))
      return false;
    // Later phases turn collectives into plan entries; here they still have
    // their names.
    collectSharding(*module, report);
    // How many threads a rank has is known with the mesh.
    return resolveTarget({options.cpu, threadsPerRank()});
  case Phase::Kernels:
    if (!runPasses(phase))
      return false;
    // They are compiled while the plan is made: no dialect may be loaded from
    // there on.
    loadDialectsOfPlanPasses();
    if (options.compileTo == Phase::Trainer || !options.kernels.empty())
      compilation = target->compile(module->lookupSymbol<ModuleOp>("kernels"));
    return options.compileTo != Phase::Kernels || !compilation || takeKernels();
  case Phase::Plan:
    return runPasses(phase) &&
           (options.compileTo != Phase::Plan || !compilation || takeKernels());
  case Phase::Trainer:
    return emitTrainer();
  }
  llvm_unreachable("a phase that the compiler does not know");
}

bool Compiler::show(Phase phase) {
  if (!options.dumpPhasesTo.empty()) {
    std::string text;
    llvm::raw_string_ostream(text) << *module << "\n";
    if (llvm::Error error = writeFile(phaseFile(options, phase), text))
      return fail(std::move(error));
  }
  if (options.compileTo == phase && options.printIr)
    llvm::outs() << *module << "\n";
  return true;
}

bool Compiler::disablePasses() {
  if (options.disabledPasses.empty())
    return true;
  std::vector<std::string> names = passNames(options);
  for (const std::string &disabled : options.disabledPasses)
    if (!llvm::is_contained(names, disabled))
      return fail(llvm::createStringError(
          "--disable-pass " + disabled + ": there is no such pass; there are " +
          llvm::join(names, ", ")));
  context.registerActionHandler(
      [this](llvm::function_ref<void()> run, const tracing::Action &action) {
        auto *pass = dyn_cast<PassExecutionAction>(&action);
        if (!pass || !llvm::is_contained(options.disabledPasses,
                                         pass->getPass().getArgument()))
          run();
      });
  return true;
}

bool Compiler::showRemarks() {
  if (options.remarks.empty())
    return true;
  if (llvm::Error error = enableRemarks(context, options.remarks))
    return fail(std::move(error));
  diagnostics.showRemarks();
  return true;
}

bool Compiler::makeFolder() {
  if (options.dumpPhasesTo.empty())
    return true;
  std::error_code code =
      llvm::sys::fs::create_directories(options.dumpPhasesTo);
  return !code ||
         fail(llvm::createStringError(
             code,
             "%s: %s; --dump-phases-to needs a folder that can be written",
             options.dumpPhasesTo.c_str(), code.message().c_str()));
}

bool Compiler::run() {
  // No thread outlives a failure.
  llvm::scope_exit wait([this] {
    compilation.reset();
    phaseTime.stop();
    wholeTime.stop();
    timing.print();
  });
  // Before the model is read: a typing error should not take its time.
  if (auto precision =
          PrecisionOption::parse(options.precision, options.master);
      !precision)
    return fail(precision.takeError());
  if (!resolveTarget({options.cpu}) || !disablePasses() || !showRemarks())
    return false;
  timing.setEnabled(options.passTiming);
  wholeTime = timing.getRootScope();
  if (!checkFiles())
    return false;
  for (int phase = 0; phase <= int(options.compileTo); ++phase) {
    phaseTime = wholeTime.nest(infoOf(Phase(phase)).name);
    if (!runPhase(Phase(phase)))
      return false;
    if (Phase(phase) == Phase::Import && (!checkFiles() || !makeFolder()))
      return false;
    if (Phase(phase) != Phase::Trainer && !show(Phase(phase)))
      return false;
  }
  return options.printIr || writeReport();
}

bool Compiler::resolveTarget(const TargetOptions &with) {
  auto resolved = Target::resolve(options.target, with);
  if (!resolved)
    return fail(resolved.takeError());
  target = std::move(*resolved);
  return true;
}

bool Compiler::takeKernels() {
  auto compiled = compilation->take();
  if (!compiled)
    return fail(compiled.takeError());
  kernels = std::move(*compiled);
  if (std::string warning = kernels->warning(); !warning.empty())
    emitWarning(module->getLoc()) << warning;
  if (options.kernels.empty())
    return true;
  if (std::error_code code = llvm::sys::fs::create_directories(options.kernels))
    return fail(llvm::createStringError(
        code, "%s: %s; --kernels needs a folder that can be written",
        options.kernels.c_str(), code.message().c_str()));
  for (auto [name, bytes] : kernels->files())
    if (llvm::Error error = writeFile(options.kernels + "/" + name, bytes))
      return fail(std::move(error));
  return true;
}

/// This machine's cores over the ranks, since they all run here without a
/// launcher.
int64_t Compiler::threadsPerRank() {
  if (options.threadsPerRank)
    return options.threadsPerRank;
  return std::max<int64_t>(1,
                           std::thread::hardware_concurrency() / report.ranks);
}

bool Compiler::emitTrainer() {
  if (!options.disabledPasses.empty())
    emitWarning(module->getLoc())
        << "compiled without " << llvm::join(options.disabledPasses, ", ")
        << ": what it does or proves is missing from this trainer";
  // All that does not need the kernels' code is done while it is made.
  shardc::onnx::ExportTemplate graph =
      shardc::onnx::makeExportTemplate(*imported.model);
  auto emitted =
      emitPlan(*module, emitOptions(options, *imported.model, graph, &context));
  if (!emitted)
    return fail(emitted.takeError());
  EmittedPlan &plan = *(this->plan = std::move(*emitted));
  if (!takeKernels())
    return false;
  *plan.plan.mutable_target() = kernels->describe();
  if (std::string why = target->whyNoTrainer(); !why.empty())
    return finish(plan.plan) &&
           fail(llvm::createStringError(
               why + ": its plan and kernels were compiled, and " +
               options.output + " was not written"));
  auto runtime = findRuntime(programPath());
  if (!runtime)
    return fail(runtime.takeError());
  TrainerContents contents;
  std::string bytes = plan.serialize();
  contents.runtime = *runtime;
  contents.plan = bytes;
  contents.kernels = kernels->section();
  contents.exportTemplate = graph.model;
  contents.weights = plan.weights;
  contents.modelPath = options.model;
  if (llvm::Error error = writeTrainer(options.output, contents))
    return fail(std::move(error));
  return finish(plan.plan);
}

bool Compiler::finish(const plan::Plan &plan) {
  collectPlan(plan, *module, report);
  return writeReport();
}

bool Compiler::writeReport() {
  report.compileSeconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  llvm::Error error =
      shardc::writeReport(options, report, imported, kernels.get());
  return !error || fail(std::move(error));
}

} // namespace

int shardc::compile(const Options &options) {
  // Never taken down: to free a large module node by node takes as long as a
  // pass, and the process ends here.
  static Compiler &compiler = *new Compiler(options);
  return compiler.run() ? 0 : 1;
}
