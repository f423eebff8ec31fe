// The collectives of a step, as a plan's entries start them.
#include "runtime/train/Collectives.h"

#include "runtime/base/DType.h"
#include "runtime/base/EntryKind.h"
#include "runtime/base/Tensor.h"

#include <algorithm>

namespace shardc::runtime {

static int64_t
bytesOf(const google::protobuf::RepeatedPtrField<plan::Tensor> &tensors) {
  int64_t bytes = 0;
  for (const plan::Tensor &tensor : tensors)
    bytes += bytesOf(tensor);
  return bytes;
}
static int64_t bytesOf(const plan::Unit &unit) {
  return unit.elements() * static_cast<int64_t>(elementSize(unit.dtype()));
}

std::optional<Collective> collectiveOf(const plan::Plan &plan,
                                       const plan::Entry &entry) {
  auto some = [&](const char *kind, int64_t bytes) {
    return Collective{kind, entry.phase(), 1, bytes};
  };
  switch (entry.kind_case()) {
  case plan::Entry::kAllGatherStart:
    return some("all_gather",
                bytesOf(plan.units(entry.all_gather_start().unit())));
  case plan::Entry::kReduceScatterStart:
    return some("reduce_scatter", bytesOf(entry.reduce_scatter_start().flat()));
  case plan::Entry::kAllReduceStart: {
    const plan::AllReduceStart &start = entry.all_reduce_start();
    int64_t bytes = 0;
    for (const plan::Tensor &value : start.values())
      bytes += bytesOf(value);
    return some(start.has_unit() ? "all_reduce_gradients" : "all_reduce",
                bytes);
  }
  case plan::Entry::kAllGatherUpdatesStart: {
    const plan::Unit &unit =
        plan.units(entry.all_gather_updates_start().unit());
    return some("all_gather_updates", bytesOf(unit) / unit.shards());
  }
  case plan::Entry::kGatherRowsStart:
    return some("gather_rows", bytesOf(entry.gather_rows_start().rows()));
  case plan::Entry::kReduceRowsStart:
    return some("reduce_rows", bytesOf(entry.reduce_rows_start().gradient()));
  case plan::Entry::kGatherMatricesStart:
    if (plan.mesh().ranks() == 1) // a copy
      return std::nullopt;
    return some("gather_matrices",
                bytesOf(entry.gather_matrices_start().matrices()));
  case plan::Entry::kScatterMatricesStart:
    if (plan.mesh().ranks() == 1)
      return std::nullopt;
    return some("scatter_matrices",
                bytesOf(entry.scatter_matrices_start().matrices()));
  default:
    return std::nullopt;
  }
}

/// Adds a number of runs of an entry to the totals.
static void add(std::vector<Collective> &totals, const plan::Plan &plan,
                const plan::Entry &entry, int64_t runs) {
  std::optional<Collective> one = collectiveOf(plan, entry);
  if (!one)
    return;
  auto total =
      std::find_if(totals.begin(), totals.end(), [&](const Collective &each) {
        return each.kind == one->kind && each.phase == one->phase;
      });
  if (total == totals.end())
    total = totals.insert(total, {one->kind, one->phase});
  total->number += runs;
  total->bytes += runs * one->bytes;
}

std::vector<Collective> collectivesOfStep(const plan::Plan &plan,
                                          int64_t microBatches) {
  std::vector<Collective> totals;
  for (const plan::Entry &entry : plan.train().entries())
    add(totals, plan, entry, runsPerStep(entry, microBatches));
  return totals;
}

std::vector<Collective> collectivesOfRun(const plan::Plan &plan,
                                         const std::vector<RankRecord> &ranks) {
  std::vector<Collective> totals;
  for (const RankRecord &rank : ranks)
    for (int i = 0; i < plan.train().entries_size(); ++i)
      add(totals, plan, plan.train().entries(i), rank.train.entryRuns[i]);
  return totals;
}

} // namespace shardc::runtime
