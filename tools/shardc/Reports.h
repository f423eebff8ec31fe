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

/// Writes --report, and prints the report unless --quiet is given. `kernels`
/// may be null: they were not compiled.
llvm::Error writeReport(const Options &options, const CompileReport &report,
                        const onnx::ImportDiagnostics &imported,
                        const CompiledKernels *kernels);

} // namespace shardc

#endif
