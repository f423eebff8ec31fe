// From the plan's entries to those of a device: addresses instead of buffers,
// and every operand checked, once for all devices.
#ifndef SHARDC_RUNTIME_ENGINE_RESOLVE_H
#define SHARDC_RUNTIME_ENGINE_RESOLVE_H

#include "runtime/engine/RankState.h"

namespace shardc::runtime {

#define SHARDC_DECLARE(Kind)                                                   \
  entry::Kind resolve(const RankState &state, const plan::Kind &entry);
SHARDC_COMPUTE_ENTRIES(SHARDC_DECLARE)
#undef SHARDC_DECLARE
/// None where the run does not accumulate.
std::optional<entry::Accumulate> resolve(const RankState &state,
                                         const plan::Accumulate &entry);
/// `loss` and `skipped` are left to the caller.
entry::OptimizerStep resolve(const RankState &state,
                             const plan::OptimizerStep &entry);

/// A field of an entry, resolved; an absent one is an empty Tensor.
#define SHARDC_RESOLVE_FIELD(state, entry, field)                              \
  ((entry).has_##field() ? (state).resolve((entry).field(), #field)            \
                         : ::shardc::runtime::Tensor())

} // namespace shardc::runtime

#endif
