// The driver: the model is imported once, compiled for each target, and written.
#include "tools/shardc/Compiler.h"

#include "codegen/Target.h"
#include "codegen/emit/WriteTrainer.h"
#include "codegen/lower/LibraryCalls.h"
#include "frontend/nn/NN.h"
#include "frontend/onnx/ExportTemplate.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/ImportedModel.h"
#include "passes/Passes.h"
#include "passes/analyses/CostModel.h"
#include "passes/options/ByteSize.h"
#include "passes/options/OffloadOption.h"
#include "passes/options/PrecisionOption.h"
#include "passes/options/PrefetchOption.h"
#include "passes/options/RematOption.h"
#include "runtime/base/Printable.h"
#include "tools/shardc/CompilerFiles.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/Emission.h"
#include "tools/shardc/Files.h"
#include "tools/shardc/Pareto.h"
#include "tools/shardc/Remarks.h"
#include "tools/shardc/ReportPage.h"
#include "tools/shardc/Reports.h"
#include "tools/shardc/TargetProgram.h"
#include "tools/shardc/TimelineFile.h"
#include "tools/shardc/UnshardedStep.h"
#include "tools/shardc/explain/Answer.h"
#include "tools/shardc/explain/Limits.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

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
  /// Plans for the first target, and answers `options.what`.
  bool explain();

private:
  static DialectRegistry registry();
  /// All up to the phase import; false after an error.
  bool prepare();
  /// Ends what runs, and prints times.
  void finish();
  /// Makes a program for each of --target's.
  bool findTargets();
  bool importModel();
  Compilation compilation(const Options &of) {
    return {of, context, diagnostics, wholeTime, {}, [this](int64_t times) {
              return importLarger(&context, options, *imported.model, times);
            }};
  }
  /// Whether no file is input and output, or two outputs. The model's external
  /// data are known once it is imported.
  bool checkFiles();
  /// What --disable-pass names is there, and will not run.
  bool disablePasses();
  /// What --remarks names will say why.
  bool showRemarks();
  /// The folder of --dump-phases-to.
  bool makeFolder();
  /// The phase import, which knows no target.
  bool runImport();
  /// All others, for each target; those that nobody named are left out where
  /// they bring no trainer.
  bool runTargets();
  /// Plans each policy of --remat pareto, and says what it takes.
  bool comparePolicies();
  /// Plans again for a target, with other options of the same model; nothing
  /// where that is an error, which is not printed.
  std::optional<CompileReport> planAgain(const Options &changed,
                                         const TargetProgram &target);
  EmitOptions emission();
  bool emit(TargetProgram &program);
  bool writeTrainer();
  /// Writes and prints what was resolved.
  bool writeReport();
  /// Writes --report FILE.html.
  bool writeReportPage();
  bool fail(llvm::Error error);

  const Options &options;
  DefaultTimingManager timing;
  TimingScope wholeTime, phaseTime;
  MLIRContext context;
  DiagnosticPrinter diagnostics;
  shardc::onnx::ImportDiagnostics imported;
  OwningOpRef<ModuleOp> module; // as imported
  Compilation common = compilation(options);
  std::vector<std::unique_ptr<TargetProgram>> programs;
  /// With --checkable one for each of the programs.
  std::vector<std::unique_ptr<UnshardedStep>> unsharded;
  std::optional<shardc::onnx::ExportTemplate> graph;
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
  if (imported.model)
    external = imported.model->file->externalFiles();
  std::vector<std::string> suffixes;
  for (const auto &program : programs)
    suffixes.push_back(program->suffix());
  llvm::Error error = shardc::checkFiles(options, suffixes, external);
  return !error || fail(std::move(error));
}

bool Compiler::importModel() {
  module = shardc::onnx::importOnnx(&context, importOptions(options), imported);
  if (!module || diagnostics.hadError())
    return false;
  for (const std::string &warning : imported.warnings)
    emitWarning(module->getLoc(), warning);
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

bool Compiler::findTargets() {
  // What is no trainer is made for one target.
  bool isAuto = options.target == "auto";
  auto names = Target::parseList(
      isAuto && options.compileTo != Phase::Trainer ? "cpu" : options.target);
  if (!names)
    return fail(names.takeError());
  for (const std::string &name : *names) {
    programs.push_back(std::make_unique<TargetProgram>(
        common, name,
        names->size() > 1 ? "." + Target::kindOf(name).str() : ""));
    if (!programs.back()->resolveTarget())
      return false;
  }
  return true;
}

bool Compiler::runImport() {
  phaseTime = wholeTime.nest(infoOf(Phase::Import).name);
  if (!importModel() || !checkFiles() || !makeFolder())
    return false;
  llvm::Error error = showPhase(options, Phase::Import, *module, "");
  phaseTime.stop();
  return !error || fail(std::move(error));
}

EmitOptions Compiler::emission() {
  if (!graph)
    graph = shardc::onnx::makeExportTemplate(*imported.model);
  return emitOptions(options, *imported.model, *graph, &context);
}

bool Compiler::emit(TargetProgram &program) {
  // All that does not need the kernels' code is done while it is made.
  EmitOptions emit = emission();
  for (const auto &other : programs)
    if (other->emitted())
      emit.embedded = other->emitted()->weights;
  return program.emit(emit);
}

bool Compiler::comparePolicies() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::Array reported;
  for (const auto &target : programs) {
    std::vector<ParetoPoint> points;
    for (const std::string &policy : paretoPolicies()) {
      Options point = options;
      point.remat = policy;
      Compilation alone = compilation(point);
      TargetProgram program(alone, target->name(), "");
      if (!program.resolveTarget() || !program.run(module->clone()) ||
          !program.plan(emission()))
        return false;
      addPoint(points, policy, program.report);
    }
    stream << "for " << target->name() << ", mesh " << options.mesh << ": ";
    printPareto(stream, points);
    reported.push_back(llvm::json::Object{{"target", target->name()},
                                          {"points", toJson(points)}});
  }
  if (!options.quiet)
    llvm::outs() << runtime::printableLines(text);
  llvm::Error error =
      options.report.empty()
          ? llvm::Error::success()
          : writeFile(
                options.report,
                llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                             {"pareto", std::move(reported)}}))
                    .str());
  return !error || fail(std::move(error));
}

bool Compiler::runTargets() {
  for (size_t i = 0; i < programs.size();) {
    TargetProgram &program = *programs[i];
    bool isLast = i + 1 == programs.size();
    // A page compares plans, which are made of what was imported.
    bool isNeeded = !isLast || reportsAsPage(options) || options.checkable;
    if (!program.run(isNeeded ? module->clone() : std::move(module)))
      return false;
    // What a rank takes is known of a plan that is emitted.
    if (options.compileTo == Phase::Plan && !options.memoryLimit.empty() &&
        !program.plan(emission()))
      return false;
    if (options.compileTo == Phase::Trainer) {
      if (!emit(program))
        return false;
      if (std::string why = program.whyIncomplete(); !why.empty()) {
        bool isOptional = options.target == "auto" && i > 0;
        if (!isOptional)
          return fail(llvm::createStringError(why));
        emitWarning(UnknownLoc::get(&context))
            << why << "; the trainer has no plan for " << program.name();
        programs.erase(programs.begin() + i);
        continue;
      }
      if (options.checkable) {
        auto alone = UnshardedStep::make(common, program, *module, emission());
        if (!alone)
          return fail(alone.takeError());
        unsharded.push_back(std::move(*alone));
      }
    }
    ++i;
  }
  return options.compileTo != Phase::Trainer ||
         llvm::all_of(programs,
                      [](const auto &each) { return each->writeKernels(); });
}

void Compiler::finish() {
  for (const auto &program : programs)
    program->stop();
  for (const auto &alone : unsharded)
    alone->program().stop();
  phaseTime.stop();
  wholeTime.stop();
  timing.print();
}

bool Compiler::explain() {
  llvm::scope_exit wait([this] { finish(); });
  std::vector<Remark> remarks;
  diagnostics.keepRemarks(remarks);
  if (options.what == "oom" && !parseByteSize(options.size))
    return fail(llvm::createStringError("explain oom " + options.size +
                                        ": expected " + byteSizeForms));
  if (llvm::Error error = enableRemarks(context, "."))
    return fail(std::move(error));
  if (!prepare())
    return false;
  TargetProgram &program = *programs.front();
  if (!program.run(module->clone()) || !program.plan(emission()))
    return false;
  auto step = program.record();
  if (!step)
    return fail(step.takeError());
  auto again = [&](const Options &changed) {
    return planAgain(changed, program);
  };
  if (options.what == "oom") {
    llvm::outs() << runtime::printableLines(
        outOfMemory(options, program.report, again));
    return true;
  }
  auto answer = shardc::answer(
      options.what, {program.emitted()->plan, program.report, *step, remarks});
  if (!answer)
    return fail(answer.takeError());
  if (options.what == "memory")
    *answer += smallerPlans(options, program.report, again);
  llvm::outs() << runtime::printableLines(*answer);
  return true;
}

std::optional<CompileReport> Compiler::planAgain(const Options &changed,
                                                 const TargetProgram &target) {
  KeptDiagnostics kept(/*keepsWarnings=*/true);
  llvm::scope_exit forget([this] { diagnostics.forgetErrors(); });
  Compilation alone = compilation(changed);
  TargetProgram program(alone, target.name(), "");
  if (!program.resolveTarget() || !program.run(module->clone()) ||
      !program.plan(emission()))
    return std::nullopt;
  return program.report;
}

bool Compiler::prepare() {
  // Before the model is read: a typing error should not take its time.
  if (auto precision =
          PrecisionOption::parse(options.precision, options.master);
      !precision)
    return fail(precision.takeError());
  if (auto remat = RematOption::parse(options.remat); !remat)
    return fail(remat.takeError());
  if (auto prefetch = PrefetchOption::parse(
          options.prefetch.empty() ? "auto" : options.prefetch);
      !prefetch)
    return fail(
        llvm::createStringError("--" + llvm::toString(prefetch.takeError())));
  if (auto offload = OffloadOption::parse(options.offload); !offload)
    return fail(
        llvm::createStringError("--" + llvm::toString(offload.takeError())));
  if (!options.memoryLimit.empty() && !parseByteSize(options.memoryLimit))
    return fail(llvm::createStringError("--memory-limit " +
                                        options.memoryLimit + ": expected " +
                                        byteSizeForms));
  if (llvm::Error error = checkTimelineFile(options))
    return fail(std::move(error));
  auto cache = openKernelCache(options);
  if (!cache)
    return fail(cache.takeError());
  common.cache = std::move(*cache);
  if (!findTargets() || !disablePasses() || !showRemarks())
    return false;
  timing.setEnabled(options.passTiming);
  wholeTime = timing.getRootScope();
  return checkFiles() && runImport();
}

bool Compiler::run() {
  // No thread outlives a failure.
  llvm::scope_exit wait([this] { finish(); });
  if (!prepare())
    return false;
  if (options.compileTo == Phase::Import)
    return true;
  if (options.remat == "pareto")
    return comparePolicies();
  if (!runTargets())
    return false;
  if (options.compileTo == Phase::Trainer)
    return writeTrainer() && writeReport();
  return options.printIr || writeReport();
}

bool Compiler::writeTrainer() {
  if (!options.disabledPasses.empty())
    emitWarning(UnknownLoc::get(&context))
        << "compiled without " << llvm::join(options.disabledPasses, ", ")
        << ": what it does or proves is missing from this trainer";
  auto runtime = findRuntime(programPath());
  if (!runtime)
    return fail(runtime.takeError());
  TrainerContents contents;
  std::deque<std::string> plans;
  for (const auto &program : programs)
    contents.targets.push_back(
        {plans.emplace_back(program->emitted()->serialize()),
         program->compiledKernels()->section()});
  for (auto [target, alone] : llvm::zip(contents.targets, unsharded)) {
    target.unshardedPlan =
        plans.emplace_back(alone->program().emitted()->serialize());
    target.unshardedKernels = alone->program().compiledKernels()->section();
  }
  contents.runtime = *runtime;
  contents.exportTemplate = graph->model;
  contents.weights = programs.back()->emitted()->weights;
  contents.modelPath = options.model;
  if (imported.model->file->isRewritten())
    contents.modelContent = imported.model->file->content();
  llvm::Error error = shardc::writeTrainer(options.output, contents);
  return !error || fail(std::move(error));
}

bool Compiler::writeReport() {
  std::vector<TargetReport> reports;
  for (const auto &program : programs) {
    program->report.compileSeconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    reports.push_back(
        {program->name(), program->report, program->compiledKernels()});
  }
  llvm::Error error = shardc::writeReport(options, reports, imported);
  if (error)
    return fail(std::move(error));
  return !reportsAsPage(options) || writeReportPage();
}

bool Compiler::writeReportPage() {
  std::vector<ReportedPlan> plans;
  for (const auto &program : programs) {
    auto step = program->record();
    if (!step)
      return fail(step.takeError());
    std::vector<ParetoPoint> points;
    addPoint(points, options.remat, program->report);
    for (const std::string &policy : paretoPolicies()) {
      Options changed = options;
      changed.remat = policy;
      changed.memoryLimit = "";
      if (policy != options.remat)
        if (auto report = planAgain(changed, *program))
          addPoint(points, policy, *report);
    }
    plans.push_back({program->name(), program->report, std::move(*step),
                     std::move(points)});
  }
  llvm::Error error = writeFile(options.report, reportPage(options, plans));
  return !error || fail(std::move(error));
}

} // namespace

int shardc::compile(const Options &options) {
  // Never taken down: to free a large module node by node takes as long as a
  // pass, and the process ends here.
  static Compiler &compiler = *new Compiler(options);
  return compiler.run() ? 0 : 1;
}

int shardc::explain(const Options &options) {
  static Compiler &compiler = *new Compiler(options);
  return compiler.explain() ? 0 : 1;
}
