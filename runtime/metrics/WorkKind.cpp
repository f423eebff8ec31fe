// What sort of work a plan entry is.
#include "runtime/metrics/WorkKind.h"

namespace shardc::runtime {

const char *workKind(const plan::Entry &entry) {
  switch (entry.kind_case()) {
  case plan::Entry::kGemm:
    return "gemm";
  case plan::Entry::kAttention:
  case plan::Entry::kAttentionGrad:
    return "attention";
  case plan::Entry::kCrossEntropy:
  case plan::Entry::kLinearCrossEntropy:
    return "loss";
  case plan::Entry::kLaunch:
    return "kernel";
  case plan::Entry::kEmbedding:
  case plan::Entry::kEmbeddingGrad:
    return "embedding";
  case plan::Entry::kCopy:
  case plan::Entry::kFill:
  case plan::Entry::kKeep:
  case plan::Entry::kAccumulate:
    return "copy";
  case plan::Entry::kAllGatherStart:
  case plan::Entry::kReduceScatterStart:
  case plan::Entry::kAllReduceStart:
  case plan::Entry::kAllGatherUpdatesStart:
    return "collective";
  case plan::Entry::kWait:
    return "wait";
  case plan::Entry::kGradientNorm:
  case plan::Entry::kOptimizerStep:
    return "optimizer";
  default:
    return "other";
  }
}

int64_t collectiveId(const plan::Entry &entry) {
  switch (entry.kind_case()) {
  case plan::Entry::kAllGatherStart:
    return entry.all_gather_start().id();
  case plan::Entry::kReduceScatterStart:
    return entry.reduce_scatter_start().id();
  case plan::Entry::kAllReduceStart:
    return entry.all_reduce_start().id();
  case plan::Entry::kAllGatherUpdatesStart:
    return entry.all_gather_updates_start().id();
  case plan::Entry::kWait:
    return entry.wait().id();
  default:
    return -1;
  }
}

} // namespace shardc::runtime
