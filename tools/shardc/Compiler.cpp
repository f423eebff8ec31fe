// The driver: phases in their order, what is shown and written of them.
#include "tools/shardc/Compiler.h"

#include "codegen/Passes.h"
#include "codegen/Target.h"
#include "codegen/emit/EmitPlan.h"
#include "codegen/emit/WriteTrainer.h"
#include "codegen/lower/LibraryCalls.h"
#include "frontend/nn/NN.h"
#include "frontend/onnx/Decoder.h"
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/ImportedModel.h"
#include "passes/Passes.h"
#include "passes/options/Cluster.h"
#include "passes/options/PrecisionOption.h"
#include "passes/report/Report.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/FileUses.h"
#include "tools/shardc/Files.h"
#include "tools/shardc/Printable.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

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
  /// The folder of --dump-phases-to.
  bool makeFolder();
  /// Shows the IR after a phase where that was asked for.
  bool show(Phase phase);
  bool resolveTarget(const TargetOptions &with);
  /// Waits for the kernels, and writes those that --kernels asks for.
  bool takeKernels();
  bool emitTrainer();
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
    return {cluster(), target->name(), report.ranks ? threadsPerRank() : 1};
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

static std::string phaseFile(const Options &options, Phase phase) {
  return llvm::formatv("{0}/{1}-{2}.mlir", options.dumpPhasesTo, int(phase) + 1,
                       infoOf(phase).name);
}

bool Compiler::checkFiles() {
  FileUses uses;
  uses.reads("the model " + options.model, options.model);
  if (module)
    for (const std::string &path : imported.model->file->externalFiles())
      uses.reads("the model's external data " + path, path);
  if (!options.cluster.empty() &&
      !llvm::is_contained(Cluster::builtIn(), options.cluster))
    uses.reads("--cluster " + options.cluster, options.cluster);
  uses.reads("shardc itself, " + programPath(), programPath());
  bool writesTrainer = options.compileTo == Phase::Trainer;
  if (auto runtime = findRuntime(programPath()); !runtime)
    llvm::consumeError(runtime.takeError());
  else
    uses.reads("the trainer's runtime " + *runtime, *runtime);
  if (writesTrainer)
    uses.writes("the trainer (-o " + options.output + ")", options.output);
  // "-" is stdout.
  if (!options.report.empty() && options.report != "-")
    uses.writes("--report " + options.report, options.report);
  if (!options.dumpPhasesTo.empty())
    for (int phase = 0;
         phase <= int(options.compileTo) && Phase(phase) != Phase::Trainer;
         ++phase) {
      std::string path = phaseFile(options, Phase(phase));
      uses.writes(
          "--dump-phases-to " + options.dumpPhasesTo + " (" + path + ")", path);
    }
  if (!options.kernels.empty())
    uses.writesInto("--kernels", options.kernels, {".so", ".ptx", ".cubin"});
  if (llvm::Error error = uses.check())
    return fail(std::move(error));
  return true;
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

/// What backward keeps, as nn-remat noted it.
static void collectRemat(ModuleOp module, CompileReport::Memory &memory) {
  if (auto remat = module->getAttrOfType<DictionaryAttr>("nn.remat")) {
    auto number = [&](StringRef name) {
      return remat.getAs<IntegerAttr>(name).getInt();
    };
    auto seconds = [&](StringRef name) {
      return remat.getAs<FloatAttr>(name).getValueAsDouble();
    };
    memory.remat = {remat.getAs<StringAttr>("policy").str(),
                    number("read_bytes"),
                    number("kept_bytes"),
                    number("recomputed_bytes"),
                    number("recomputed_flops"),
                    seconds("recomputed_seconds"),
                    seconds("step_seconds")};
  }
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
  if (!resolveTarget({options.cpu}) || !disablePasses())
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
  EmitOptions emit;
  emit.compiler = "shardc " SHARDC_VERSION;
  // The trainer is run from any folder, and knows the file again by its hash.
  llvm::SmallString<256> path(options.model);
  llvm::sys::fs::make_absolute(path);
  emit.model = path.str();
  emit.modelHash = llvm::xxh3_64bits(imported.model->file->bytes());
  emit.init = options.init;
  emit.embedWeights = options.embedWeights;
  for (const shardc::onnx::TemplateInitializer &initializer :
       graph.initializers)
    emit.exported.push_back(
        {initializer.name,
         initializer.parameter,
         initializer.transposed,
         {initializer.source.file, initializer.source.offset,
          initializer.source.length,
          shardc::onnx::elementType(&context, initializer.dtype), false},
         {initializer.dims.begin(), initializer.dims.end()},
         initializer.dtype});
  auto emitted = emitPlan(*module, emit);
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

/// What was resolved, for the reader and for programs.
bool Compiler::finish(const plan::Plan &plan) {
  report.kernels = plan.kernels_size();
  report.flopsPerStep = plan.flops_per_step();
  report.memory.emplace();
  report.memory->liveBoundBytes = plan.live_bound_bytes();
  collectRemat(*module, *report.memory);
  for (const plan::Pool &pool : plan.pools()) {
    // There only in runs with several micro-batches per step.
    if (pool.name() == "accumulation") {
      report.memory->accumulationBytes = pool.bytes();
      continue;
    }
    CompileReport::Pool &reported = report.memory->pools.emplace_back();
    reported.name = pool.name();
    reported.bytes = pool.bytes();
    for (const plan::Pool::Kind &kind : pool.kinds())
      reported.kinds.push_back({kind.name(), kind.bytes()});
    report.memory->peakBytes += pool.bytes();
  }
  return writeReport();
}

/// What was decided of tensors whose role the file does not tell.
static llvm::json::Value rolesToJson(ArrayRef<shardc::onnx::RoleNote> notes) {
  llvm::json::Array list;
  for (const shardc::onnx::RoleNote &note : notes)
    list.push_back(llvm::json::Object{{"name", note.name},
                                      {"trained", note.trained},
                                      {"reason", note.reason}});
  return list;
}

bool Compiler::writeReport() {
  report.compileSeconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  if (!options.report.empty()) {
    llvm::json::Value json = toJson(report);
    (*json.getAsObject())["guessed_roles"] = rolesToJson(imported.roles);
    (*json.getAsObject())["parameters_not_in_graph"] =
        llvm::json::Array(imported.lostParameters);
    if (kernels)
      (*json.getAsObject())["compiled_kernels"] = kernels->toJson();
    if (llvm::Error error =
            writeFile(options.report, llvm::formatv("{0:2}\n", json).str()))
      return fail(std::move(error));
  }
  if (!options.quiet) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    printReport(stream, report);
    if (kernels)
      kernels->print(stream);
    llvm::outs() << printableLines(text);
  }
  return true;
}

} // namespace

int shardc::compile(const Options &options) {
  // Never taken down: to free a large module node by node takes as long as a
  // pass, and the process ends here.
  static Compiler &compiler = *new Compiler(options);
  return compiler.run() ? 0 : 1;
}
