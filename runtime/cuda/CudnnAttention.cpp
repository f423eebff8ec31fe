// Who computes an entry of attention is decided when it is bound, by its shape,
// the library that is here and the plan's workspace: alike in every run.
#include "runtime/cuda/CudnnAttention.h"

#include "runtime/base/Error.h"

namespace shardc::runtime::cuda {

std::vector<QuerySums> steadySums(const CudnnTarget &target, std::string &why) {
  // Since 9.25 one of its engines for Hopper adds in order, more slowly.
  if (target.capability / 10 == 9 && target.library.version >= 92500)
    return {QuerySums::Scores, QuerySums::Ordered};
  if (target.capability < 100)
    return {QuerySums::Scores};
  why = concat(
      "gradients of equal bits are asked of cuDNN for compute capability "
      "8.0 to 9.0, and this one has ",
      target.capability / 10, ".", target.capability % 10);
  return {};
}

const CudnnEngine *engineOf(QuerySums sums) {
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
  // It knows a row's sum from log_sum_exp alone, which has lost it beside a
  // score of -10000.
  if (of.bias || of.keyMask) {
    why = "cuDNN's gradient is taken where there is neither bias nor mask of "
          "keys";
    return false;
  }
  // Up to 9.26 it gives NaNs for the rest of a tile, where log_sum_exp is below
  // -88 (pytorch#196678, cudnn-frontend#1072).
  if (int64_t queries = of.query.shape[1], keys = of.key.shape[1];
      queries % 128 != 0 || keys % 128 != 0) {
    why = concat(
        "cuDNN's gradient is taken for multiples of 128 queries and keys, "
        "and there are ",
        queries, " and ", keys);
    return false;
  }
  return graphsCanSay(entry, why);
}

CudnnAttention::~CudnnAttention() {
  plans.clear();
  if (opened)
    opened->library.cudnnDestroy(opened->handle);
}

const CudnnTarget *CudnnAttention::target(std::string &why) {
  if (whyClosed) {
    why = *whyClosed;
    return opened ? &*opened : nullptr;
  }
  whyClosed = "";
  try {
    const Cudnn &library = device.context.libraries.cudnn();
    int capability = device.context.capability;
    auto most = int(library.cudnnGetMaxDeviceVersion() / 10);
    if (capability > most)
      fail(library.describe(), " is for GPUs up to compute capability ",
           most / 10, ".", most % 10, ", and this one has ", capability / 10,
           ".", capability % 10);
    cudnnHandle_t handle = nullptr;
    library.check(library.cudnnCreate(&handle), "cudnnCreate");
    opened.emplace(library, handle, capability);
    library.check(library.cudnnSetStream(handle, device.compute),
                  "cudnnSetStream");
    return &*opened;
  } catch (const Error &error) {
    why = *(whyClosed = error.what());
    return nullptr;
  }
}

const CudnnAttention::Found &CudnnAttention::find(const Way &way) {
  std::vector<int64_t> key = way.steps.graph.signature();
  key.push_back(int64_t(way.sums));
  key.push_back(way.steps.workspaceBytes);
  auto [found, isNew] = plans.try_emplace(std::move(key));
  if (isNew)
    found->second.plan =
        CudnnPlan::make(*opened, way.steps.graph, way.steps.workspaceBytes,
                        found->second.why, engineOf(way.sums));
  return found->second;
}

Task CudnnAttention::choose(Use &use, const std::vector<Way> &ways,
                            plan::DType dtype, std::string why) {
  for (const Way &way : ways) {
    const Found &found = find(way);
    if (!found.plan) {
      // The way that it would rather go says more.
      if (why.empty())
        why = found.why;
      continue;
    }
    ++use.cudnn;
    use.steady &= way.sums != QuerySums::Atomic;
    return taskOf(way.steps, found.plan, dtype);
  }
  if (device.attention == AttentionBy::Cudnn)
    fail("--attention cudnn: ", why, "; give --attention auto");
  if (use.own++ == 0)
    use.why = why;
  return nullptr;
}

Task CudnnAttention::taskOf(const CudnnSteps &steps,
                            std::shared_ptr<CudnnPlan> plan,
                            plan::DType dtype) {
  std::vector<Task> tasks;
  if (steps.bias) {
    int64_t elements = 1;
    for (Count each : steps.bias->shape)
      elements *= each;
    tasks.push_back(kernelTask(device, "AttentionBias",
                               std::string("attention_bias_") + suffixOf(dtype),
                               gridFor(elements), *steps.bias));
  }
  tasks.push_back([this, plan, graph = steps.graph, at = steps.workspace] {
    plan->enqueue(*opened, graph, at);
  });
  if (steps.unseen)
    tasks.push_back(
        kernelTask(device, "AttentionBias", "attention_unseen",
                   gridFor(steps.unseen->batch * steps.unseen->heads *
                           steps.unseen->queries),
                   *steps.unseen));
  return [tasks = std::move(tasks)] {
    for (const Task &task : tasks)
      task();
  };
}

Task CudnnAttention::bind(const entry::Attention &entry) {
  if (device.attention == AttentionBy::Own)
    return nullptr;
  std::string why;
  std::vector<Way> ways;
  if (suitsCudnn(entry, why) && target(why))
    ways.push_back({QuerySums::Scores, cudnnSteps(entry)});
  return choose(forward, ways, entry.operands.query.dtype, why);
}

Task CudnnAttention::bind(const entry::AttentionGrad &entry) {
  if (device.attention == AttentionBy::Own)
    return nullptr;
  std::string why;
  std::vector<Way> ways;
  if (const CudnnTarget *here =
          suitsCudnn(entry, why) ? target(why) : nullptr) {
    std::vector<QuerySums> all = steadySums(*here, why);
    if (device.attention == AttentionBy::Cudnn)
      all.push_back(QuerySums::Atomic);
    for (QuerySums sums : all)
      ways.push_back({sums, cudnnSteps(entry, sums)});
  }
  return choose(backward, ways, entry.operands.query.dtype, why);
}

std::string CudnnAttention::Use::describe(const std::string &library) const {
  if (cudnn + own == 0)
    return "";
  std::string text = concat(direction, " by ");
  if (cudnn > 0)
    text += library;
  if (cudnn > 0 && own > 0)
    text += concat(" (", cudnn, " of ", cudnn + own, " entries) and ");
  if (own > 0)
    text += concat("own kernels: ", why);
  if (!steady)
    text += ", whose sums have no order: two runs may differ in bits";
  return text;
}

std::string CudnnAttention::describe() const {
  std::string library = opened ? opened->library.describe() : "cuDNN";
  std::string first = forward.describe(library),
              second = backward.describe(library);
  if (first.empty() && second.empty())
    return "";
  if (!opened && !first.empty() && forward.why == backward.why)
    return concat("attention by own kernels: ", forward.why);
  return concat("attention ", first,
                first.empty() || second.empty() ? "" : "; ", second);
}

} // namespace shardc::runtime::cuda
