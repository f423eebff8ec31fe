// The plan in words: the banner of a run, --report and --dry-run.
#ifndef SHARDC_RUNTIME_TRAIN_REPORT_H
#define SHARDC_RUNTIME_TRAIN_REPORT_H

#include "runtime/plan.pb.h"
#include "runtime/train/RunSettings.h"

#include <string>

namespace shardc::runtime {

/// Bytes of a pool that a step needs: the one for accumulated gradients is left
/// out where a step is one micro-batch.
int64_t poolBytes(const plan::Pool &pool, int64_t microBatches);
/// Bytes that a run allocates for one rank: of all pools but those that ranks
/// of one process do without (SharedSlices.h).
int64_t bytesPerRank(const plan::Plan &plan, int64_t microBatches);

/// What the strategy means on this mesh: what is cut over which dims.
std::string strategyText(const plan::Mesh &mesh);

/// "2x4 (replicate, shard, 8 ranks)" and "bfloat16, ...", as banners say it.
std::string meshText(const plan::Mesh &mesh);
std::string precisionText(const plan::Precision &precision);

/// A few lines: model, mesh, precision, batch, memory, parameter groups.
std::string bannerText(const plan::Plan &plan, const RunSettings &settings);

/// --report: pools, units, and collectives of a step with bytes.
std::string reportText(const plan::Plan &plan, int64_t microBatches);

} // namespace shardc::runtime

#endif
