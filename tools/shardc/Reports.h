// What a compilation resolved, for its reader and for programs.
#ifndef SHARDC_TOOLS_SHARDC_REPORTS_H
#define SHARDC_TOOLS_SHARDC_REPORTS_H

#include "codegen/Target.h"
#include "frontend/onnx/Import.h"
#include "passes/report/Report.h"
#include "tools/shardc/Options.h"

namespace shardc {

/// Kernels, operations and memory, as the plan and nn-remat have them.
void collectPlan(const plan::Plan &plan, mlir::ModuleOp module,
                 CompileReport &report);

/// An error where the plan takes more than --memory-limit says.
llvm::Error checkMemoryLimit(const Options &options,
                             const CompileReport &report);

/// What was resolved for one target. `kernels` may be null: they were not
/// compiled.
struct TargetReport {
  std::string target;
  const CompileReport &report;
  const CompiledKernels *kernels;
};

/// Writes --report, and prints the reports unless --quiet is given. As JSON, that
/// of the first target has those of the others in it, as `other_targets`.
llvm::Error writeReport(const Options &options,
                        llvm::ArrayRef<TargetReport> reports,
                        const onnx::ImportDiagnostics &imported);

} // namespace shardc

#endif
