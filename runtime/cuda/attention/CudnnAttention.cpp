// Who computes an entry of attention, as what is enqueued.
#include "runtime/cuda/attention/CudnnAttention.h"

#include "runtime/base/Error.h"

#include <utility>
#include <vector>

namespace shardc::runtime::cuda {

CudnnAttention::~CudnnAttention() {
  choice.reset();
  if (target)
    target->library.cudnnDestroy(target->handle);
}

bool CudnnAttention::open(std::string &why) {
  if (!std::exchange(isAsked, true))
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
      target.emplace(library, handle, capability);
      library.check(library.cudnnSetStream(handle, device.compute),
                    "cudnnSetStream");
      choice.emplace(*target);
    } catch (const Error &error) {
      whyClosed = error.what();
    }
  why = whyClosed;
  return choice.has_value();
}

Task CudnnAttention::take(Use &use, std::optional<CudnnChoice::Made> made,
                          const std::string &why, plan::DType dtype) {
  if (!made) {
    if (device.attention == AttentionBy::Cudnn)
      fail("--attention cudnn: ", why, "; give --attention auto");
    if (use.own++ == 0)
      use.why = why;
    return nullptr;
  }
  ++use.cudnn;
  use.isSteady &= made->sums != QuerySums::Atomic;
  std::vector<Task> tasks;
  for (const CudnnSteps &part : made->parts)
    addTasks(tasks, part, made->plan, dtype);
  return [tasks = std::move(tasks)] {
    for (const Task &task : tasks)
      task();
  };
}

void CudnnAttention::addTasks(std::vector<Task> &tasks, const CudnnSteps &steps,
                              const std::shared_ptr<CudnnPlan> &plan,
                              plan::DType dtype) {
  if (steps.bias) {
    int64_t elements = 1;
    for (Count each : steps.bias->shape)
      elements *= each;
    tasks.push_back(kernelTask(device, "AttentionBias",
                               std::string("attention_bias_") + suffixOf(dtype),
                               gridFor(elements, attentionThreads),
                               *steps.bias));
  }
  if (const auto &rows = steps.rows)
    for (const AttentionLaunch &each : rows->launches)
      tasks.push_back(kernelTask(device, each.file, each.kernel, each.grid,
                                 rows->parameters));
  if (const auto &scaled = steps.scaled)
    tasks.push_back(
        kernelTask(device, "AttentionBias",
                   std::string("attention_scaled_") + suffixOf(dtype),
                   gridFor(scaled->batch * scaled->queries * scaled->heads *
                               scaled->valueDim,
                           attentionThreads),
                   *scaled));
  tasks.push_back(
      [this, plan, graph = steps.graph, workspace = steps.workspace] {
        plan->enqueue(*target, graph, workspace);
      });
  if (const auto &unseen = steps.unseen)
    tasks.push_back(
        kernelTask(device, "AttentionBias", "attention_unseen",
                   gridFor(unseen->batch * unseen->heads * unseen->queries,
                           attentionThreads),
                   *unseen));
}

Task CudnnAttention::bind(const entry::Attention &entry) {
  if (device.attention == AttentionBy::Own)
    return nullptr;
  std::string why;
  std::optional<CudnnChoice::Made> made;
  if (suitsCudnn(entry, why) && open(why))
    made = choice->choose(entry, why);
  return take(forward, std::move(made), why, entry.operands.query.dtype);
}

Task CudnnAttention::bind(const entry::AttentionGrad &entry) {
  if (device.attention == AttentionBy::Own)
    return nullptr;
  std::string why;
  std::optional<CudnnChoice::Made> made;
  if (suitsCudnn(entry, why) && open(why))
    made = choice->choose(entry, device.attention == AttentionBy::Cudnn, why);
  return take(backward, std::move(made), why, entry.operands.query.dtype);
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
  if (!isSteady)
    text += ", whose sums have no order: two runs may differ in bits";
  return text;
}

std::string CudnnAttention::describe() const {
  std::string library = target ? target->library.describe() : "cuDNN";
  std::string first = forward.describe(library),
              second = backward.describe(library);
  if (first.empty() && second.empty())
    return "";
  if (!target && !first.empty() && forward.why == backward.why)
    return concat("attention by own kernels: ", forward.why);
  return concat("attention ", first,
                first.empty() || second.empty() ? "" : "; ", second);
}

} // namespace shardc::runtime::cuda
