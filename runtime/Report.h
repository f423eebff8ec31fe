// The plan in words: the banner of a run, --report and --dry-run.
#ifndef SHARDC_RUNTIME_REPORT_H
#define SHARDC_RUNTIME_REPORT_H

#include "runtime/RunSettings.h"
#include "runtime/plan.pb.h"

#include <string>

namespace shardc::runtime {

/// Bytes of all pools of one rank.
int64_t bytesPerRank(const plan::Plan &plan);

/// A few lines: model, mesh, precision, batch, memory.
std::string bannerText(const plan::Plan &plan, const RunSettings &settings);

/// --report: pools, units, and collectives per step with bytes.
std::string reportText(const plan::Plan &plan);

} // namespace shardc::runtime

#endif
