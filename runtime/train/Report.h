// The plan in words: the banner of a run, --report and --dry-run.
#ifndef SHARDC_RUNTIME_TRAIN_REPORT_H
#define SHARDC_RUNTIME_TRAIN_REPORT_H

#include "runtime/plan.pb.h"
#include "runtime/train/RunSettings.h"

#include <string>

namespace shardc::runtime {

/// What the strategy means on this mesh: what is cut over which dims.
std::string strategyText(const plan::Mesh &mesh);

/// "2x4 (replicate, shard, 8 ranks)" and "bfloat16, ...", as banners say it.
std::string meshText(const plan::Mesh &mesh);
std::string precisionText(const plan::Precision &precision);

/// A few lines: model, mesh, precision, batch, memory, parameter groups.
std::string bannerText(const plan::Plan &plan, const RunSettings &settings);

/// --report: pools of a rank, of which each process has so many, units, and
/// collectives of a step with bytes.
std::string reportText(const plan::Plan &plan, const DeviceTraits &device,
                       int64_t microBatches, int64_t ranksPerProcess);

} // namespace shardc::runtime

#endif
