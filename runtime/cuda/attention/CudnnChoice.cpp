// Ways are tried one after the other; what is found is kept.
#include "runtime/cuda/attention/CudnnChoice.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/attention/CudnnShapes.h"

namespace shardc::runtime::cuda {

/// The engine that a way asks for; null: the heuristic's.
static const CudnnEngine *engineOf(QuerySums sums) {
  static const CudnnEngine ordered = {6,
                                      {{CUDNN_KNOB_TYPE_TILE_M, 2},
                                       {CUDNN_KNOB_TYPE_TILE_N, 1},
                                       {CUDNN_KNOB_TYPE_KERNEL_CFG, 2},
                                       {CUDNN_KNOB_TYPE_STREAM_K, 0},
                                       {CUDNN_KNOB_TYPE_TILE_CGA_M, 0},
                                       {CUDNN_KNOB_TYPE_STAGES, 4}}};
  return sums == QuerySums::Ordered ? &ordered : nullptr;
}

bool suitsCudnn(const entry::Attention &entry, std::string &why) {
  return graphsCanSay(entry, why);
}

bool suitsCudnn(const entry::AttentionGrad &entry, std::string &why) {
  const entry::AttentionOperands &of = entry.operands;
  if (int64_t queries = of.query.shape[1], keys = of.key.shape[1];
      !isCudnnGradLength(queries, keys)) {
    why = concat(
        "cuDNN's gradient is taken for multiples of 128 queries and keys, "
        "and there are ",
        queries, " and ", keys);
    return false;
  }
  return graphsCanSay(entry, why);
}

std::vector<QuerySums> CudnnChoice::steadySums(std::string &why) const {
  // Since 9.25 one of its engines for Hopper adds in order, more slowly.
  if (target.capability / 10 == 9 && target.library.version >= 92500)
    return {QuerySums::Scores, QuerySums::Ordered};
  if (target.capability < 100)
    return {QuerySums::Scores};
  why = concat("gradients of equal bits are asked of cuDNN for compute "
               "capability 8.0 to 9.0, and this one has ",
               target.capability / 10, ".", target.capability % 10);
  return {};
}

std::optional<CudnnChoice::Made>
CudnnChoice::find(std::vector<CudnnSteps> parts, QuerySums sums,
                  std::string &why) {
  const CudnnSteps &steps = parts.front();
  std::vector<int64_t> key = steps.graph.signature();
  key.push_back(int64_t(sums));
  key.push_back(steps.workspaceBytes);
  auto [found, isNew] = plans.try_emplace(std::move(key));
  Found &kept = found->second;
  if (isNew)
    kept.plan = CudnnPlan::make(target, steps.graph, steps.workspaceBytes,
                                kept.why, engineOf(sums));
  if (kept.plan)
    return Made{kept.plan, std::move(parts), sums};
  why = kept.why;
  return std::nullopt;
}

std::optional<CudnnChoice::Made>
CudnnChoice::choose(const entry::Attention &entry, std::string &why) {
  return find({cudnnSteps(entry)}, QuerySums::Scores, why);
}

std::optional<CudnnChoice::Made>
CudnnChoice::choose(const entry::AttentionGrad &entry, QuerySums sums,
                    std::string &why) {
  return find(cudnnSteps(entry, sums), sums, why);
}

std::optional<CudnnChoice::Made>
CudnnChoice::choose(const entry::AttentionGrad &entry, bool mayDiffer,
                    std::string &why) {
  std::vector<QuerySums> ways = steadySums(why);
  if (mayDiffer)
    ways.push_back(QuerySums::Atomic);
  for (QuerySums sums : ways) {
    std::string other;
    if (std::optional<Made> made = choose(entry, sums, other))
      return made;
    if (why.empty())
      why = other;
  }
  return std::nullopt;
}

} // namespace shardc::runtime::cuda
