// A model on its way to one target: the phases from raise to plan, the kernels,
// and what was resolved.
#ifndef SHARDC_TOOLS_SHARDC_TARGETPROGRAM_H
#define SHARDC_TOOLS_SHARDC_TARGETPROGRAM_H

#include "codegen/Target.h"
#include "codegen/emit/EmitPlan.h"
#include "codegen/record/StepRecord.h"
#include "passes/report/Report.h"
#include "tools/shardc/Diagnostics.h"
#include "tools/shardc/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/Timing.h"

#include <memory>
#include <optional>
#include <string>

namespace shardc {

/// What the programs of a compilation have in common; outlives them.
struct Compilation {
  const Options &options;
  mlir::MLIRContext &context;
  DiagnosticPrinter &diagnostics;
  mlir::TimingScope &timing; // its phases are measured below this
  kernels::KernelCache cache = {};
  /// Imports the model with batches so many times as large, without a word; null
  /// where that cannot be, as where the file says how large they are.
  std::function<mlir::OwningOpRef<mlir::ModuleOp>(int64_t)> importLarger = {};
};

/// Its functions return false after an error, which has been printed.
class TargetProgram {
public:
  /// `fileSuffix`: what stands in the names of dumped phases, to tell targets
  /// apart.
  TargetProgram(const Compilation &common, std::string targetName,
                std::string fileSuffix)
      : common(common), targetName(std::move(targetName)),
        fileSuffix(std::move(fileSuffix)) {}

  /// Finds out what the target's name means here.
  bool resolveTarget() { return resolveTarget(1); }
  /// Runs the phases on `module`, which was imported, up to the plan or the one
  /// asked for.
  bool run(mlir::OwningOpRef<mlir::ModuleOp> module);
  /// Writes out the plan as a message, and reports it.
  bool plan(const EmitOptions &options);
  /// The same, and waits for its kernels.
  bool emit(const EmitOptions &options);
  /// The planned step, for explanations.
  llvm::Expected<record::StepRecord> record();
  /// Why emit() has brought no trainer; empty: it has.
  std::string whyIncomplete() const {
    return kernels->whyIncomplete(message->plan);
  }
  /// Writes the kernels that --kernels asks for.
  bool writeKernels() const;
  /// Ends what still runs.
  void stop() {
    compilation.reset();
    phaseTime.stop();
  }

  std::string name() const { return target->name(); }
  const std::string &suffix() const { return fileSuffix; }
  const std::optional<EmittedPlan> &emitted() const { return message; }
  const CompiledKernels *compiledKernels() const { return kernels.get(); }
  CompileReport report;

private:
  bool runPhase(Phase phase);
  bool runPasses(Phase phase);
  bool runPasses(Phase phase, mlir::ModuleOp on);
  /// Finds sums over samples that nn-sum-over-ranks will ask for, by the same
  /// model with larger batches, where there are any.
  void followSamples();
  bool resolveTarget(int64_t threadsPerRank);
  /// Waits for the kernels.
  bool takeKernels();
  /// The same, where nothing else is left to do.
  bool finishKernels() { return takeKernels() && writeKernels(); }
  void loadDialectsOfPlanPasses();
  int64_t threadsPerRank() const;
  PhaseSettings settings() const;
  bool fail(llvm::Error error) const;

  const Compilation &common;
  std::string targetName, fileSuffix;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Target> target;
  std::unique_ptr<KernelCompilation> compilation;
  std::unique_ptr<CompiledKernels> kernels;
  std::optional<EmittedPlan> message;
  mlir::TimingScope phaseTime;
};

/// Whether the IR is verified at the end of a phase. A release verifies the
/// program once, when it is complete and still made of ops that say what they
/// mean (import has verified what the file became, and step-verify checks the
/// plan), and where somebody reads the IR. Debug builds verify every phase, to
/// name the one that broke it.
bool verifies(const Options &options, Phase phase);

} // namespace shardc

#endif
