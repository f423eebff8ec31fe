// The plan's entries become those of a device: they have addresses instead of
// buffers, and every operand is checked here, once for all devices.
#ifndef SHARDC_RUNTIME_ENGINE_RESOLVE_H
#define SHARDC_RUNTIME_ENGINE_RESOLVE_H

#include "runtime/engine/RankState.h"

namespace shardc::runtime {

#define SHARDC_DECLARE(Kind)                                                   \
  entry::Kind resolve(const RankState &state, const plan::Kind &entry);
SHARDC_COMPUTE_ENTRIES(SHARDC_DECLARE)
#undef SHARDC_DECLARE
/// Returns nothing where the run does not accumulate.
std::optional<entry::Accumulate> resolve(const RankState &state,
                                         const plan::Accumulate &entry);
/// The caller sets `loss`.
entry::MatrixDirection resolve(const RankState &state,
                               const plan::MatrixDirection &entry);
/// The element type of a unit's directions.
plan::DType directionType(const plan::Unit &unit);
/// The caller sets `loss` and `skipped`.
entry::OptimizerStep resolve(const RankState &state,
                             const plan::OptimizerStep &entry);

/// Returns where the sum of what becomes `result` is kept between micro-batches:
/// nowhere, where a step has one.
Tensor accumulatorOf(const RankState &state, const plan::Tensor &tensor,
                     const Tensor &result);

/// Resolves a field of an entry; an absent one becomes an empty Tensor.
#define SHARDC_RESOLVE_FIELD(state, entry, field)                              \
  ((entry).has_##field() ? (state).resolve((entry).field(), #field)            \
                         : ::shardc::runtime::Tensor())

} // namespace shardc::runtime

#endif
