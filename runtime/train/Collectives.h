// The collectives of a step, as a plan's entries start them: for the report of
// what a step will do, and for the count of what a run did.
#ifndef SHARDC_RUNTIME_TRAIN_COLLECTIVES_H
#define SHARDC_RUNTIME_TRAIN_COLLECTIVES_H

#include "runtime/metrics/RankRecord.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct Collective {
  /// all_gather, reduce_scatter, all_reduce_gradients, all_reduce (norms, the
  /// loss), all_gather_updates; gather_rows, reduce_rows; gather_matrices,
  /// scatter_matrices
  std::string kind;
  std::string phase; // of the step
  int64_t number = 0;
  int64_t bytes = 0; // of the buffer that is whole before or after it
};

/// What an entry starts, once; none where it starts no collective.
std::optional<Collective> collectiveOf(const plan::Plan &plan,
                                       const plan::Entry &entry);

/// Collectives of a step by phase and kind, in the order of the step.
std::vector<Collective> collectivesOfStep(const plan::Plan &plan,
                                          int64_t microBatches);

/// The same of those that ranks have started while they ran, summed over ranks
/// and steps.
std::vector<Collective> collectivesOfRun(const plan::Plan &plan,
                                         const std::vector<RankRecord> &ranks);

} // namespace shardc::runtime

#endif
