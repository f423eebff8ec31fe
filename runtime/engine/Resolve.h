// From the plan's entries to those of a device: addresses instead of buffers,
// and every operand checked, once for all devices.
#ifndef SHARDC_RUNTIME_ENGINE_RESOLVE_H
#define SHARDC_RUNTIME_ENGINE_RESOLVE_H

#include "runtime/engine/RankState.h"

namespace shardc::runtime {

entry::Launch resolve(const RankState &state, const plan::Launch &entry);
entry::Gemm resolve(const RankState &state, const plan::Gemm &entry);
entry::Attention resolve(const RankState &state, const plan::Attention &entry);
entry::AttentionGrad resolve(const RankState &state,
                             const plan::AttentionGrad &entry);
entry::CrossEntropy resolve(const RankState &state,
                            const plan::CrossEntropy &entry);
entry::LinearCrossEntropy resolve(const RankState &state,
                                  const plan::LinearCrossEntropy &entry);
entry::Embedding resolve(const RankState &state, const plan::Embedding &entry);
entry::EmbeddingGrad resolve(const RankState &state,
                             const plan::EmbeddingGrad &entry);
entry::Copy resolve(const RankState &state, const plan::Copy &entry);
entry::Fill resolve(const RankState &state, const plan::Fill &entry);
entry::HostCall resolve(const RankState &state, const plan::HostCall &entry);
entry::GradientNorm resolve(const RankState &state,
                            const plan::GradientNorm &entry);
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
