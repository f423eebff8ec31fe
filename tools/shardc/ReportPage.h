// --report FILE.html: a plan as a page that needs no network.
#ifndef SHARDC_TOOLS_SHARDC_REPORTPAGE_H
#define SHARDC_TOOLS_SHARDC_REPORTPAGE_H

#include "codegen/record/StepRecord.h"
#include "passes/report/Report.h"
#include "tools/shardc/Options.h"
#include "tools/shardc/Pareto.h"

#include <string>
#include <vector>

namespace shardc {

/// Whether --report asks for a page.
bool reportsAsPage(const Options &options);

/// What a page shows of a target.
struct ReportedPlan {
  std::string target;
  const CompileReport &report;
  record::StepRecord step;
  std::vector<ParetoPoint> points;
};

/// The page: memory over a step with owners, when what runs, memory against
/// time, units and collectives. With several plans it has a button for each.
std::string reportPage(const Options &options,
                       llvm::ArrayRef<ReportedPlan> plans);

} // namespace shardc

#endif
