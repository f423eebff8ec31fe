// Which plan of cuDNN's computes an entry of attention, if any: decided by its
// shape, the library and the plan's workspace, alike in every run.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNCHOICE_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNCHOICE_H

#include "runtime/cuda/attention/CudnnPlan.h"
#include "runtime/cuda/attention/CudnnSteps.h"

#include <map>
#include <optional>
#include <string>

namespace shardc::runtime::cuda {

/// Whether cuDNN is asked for this entry; else `why` says why not.
bool suitsCudnn(const entry::Attention &entry, std::string &why);
bool suitsCudnn(const entry::AttentionGrad &entry, std::string &why);

/// Plans are looked for once for each shape.
class CudnnChoice {
public:
  struct Made {
    std::shared_ptr<CudnnPlan> plan;
    /// One after the other, all of that plan.
    std::vector<CudnnSteps> parts;
    QuerySums sums;
  };

  explicit CudnnChoice(const CudnnTarget &target) : target(target) {}

  /// None where the entry's workspace, or cuDNN, has nothing for it: `why` then
  /// says it, of the way that is taken first.
  std::optional<Made> choose(const entry::Attention &entry, std::string &why);
  /// `mayDiffer`: two runs may have different bits, where nothing else is there.
  std::optional<Made> choose(const entry::AttentionGrad &entry, bool mayDiffer,
                             std::string &why);
  /// One way to the gradient, whatever else there is.
  std::optional<Made> choose(const entry::AttentionGrad &entry, QuerySums sums,
                             std::string &why);

  const CudnnTarget &target;

private:
  struct Found {
    std::shared_ptr<CudnnPlan> plan;
    std::string why;
  };
  std::optional<Made> find(std::vector<CudnnSteps> parts, QuerySums sums,
                           std::string &why);
  /// Ways to the gradient that give the same bits in every run, best first; none:
  /// `why` says why.
  std::vector<QuerySums> steadySums(std::string &why) const;

  std::map<std::vector<int64_t>, Found> plans;
};

} // namespace shardc::runtime::cuda

#endif
