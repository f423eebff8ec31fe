// Attention by cuDNN, of one device: which entries it computes, and which the
// own kernels do.
#ifndef SHARDC_RUNTIME_CUDA_CUDNNATTENTION_H
#define SHARDC_RUNTIME_CUDA_CUDNNATTENTION_H

#include "runtime/cuda/Bind.h"
#include "runtime/cuda/CudnnPlan.h"
#include "runtime/cuda/CudnnSteps.h"
#include "runtime/device/Platform.h"

#include <map>
#include <optional>
#include <string>

namespace shardc::runtime::cuda {

/// Ways to the gradient that give the same bits in every run, best first, with
/// what `target` has; `why` says why there is none.
std::vector<QuerySums> steadySums(const CudnnTarget &target, std::string &why);
/// The engine that a way asks for; null: the heuristic's.
const CudnnEngine *engineOf(QuerySums sums);

/// Whether cuDNN is asked for this entry; else `why` says why not.
bool suitsCudnn(const entry::Attention &entry, std::string &why);
bool suitsCudnn(const entry::AttentionGrad &entry, std::string &why);

class CudnnAttention {
public:
  explicit CudnnAttention(CudaDevice &device) : device(device) {}
  ~CudnnAttention();

  /// What enqueues the entry; empty: the own kernels compute it. Throws an Error
  /// where it is cuDNN alone that may (--attention cudnn), and it cannot.
  Task bind(const entry::Attention &entry);
  Task bind(const entry::AttentionGrad &entry);

  /// "attention: forward by cuDNN 9.19.0, ...", in one line; empty where there is
  /// nothing to say.
  std::string describe() const;

private:
  struct Way {
    QuerySums sums;
    CudnnSteps steps;
  };
  /// Of one direction: how many entries have what, and the first reason for an
  /// own kernel.
  struct Use {
    const char *direction;
    int64_t cudnn = 0, own = 0;
    std::string why = {};
    bool steady = true; // two runs give the same bits
    std::string describe(const std::string &library) const;
  };
  struct Found {
    std::shared_ptr<CudnnPlan> plan;
    std::string why;
  };
  /// Opens the library when first asked. Null where the device cannot have it.
  const CudnnTarget *target(std::string &why);
  /// Plans are looked for once for each signature.
  const Found &find(const Way &way);
  Task choose(Use &use, const std::vector<Way> &ways, plan::DType dtype,
              std::string why);
  Task taskOf(const CudnnSteps &steps, std::shared_ptr<CudnnPlan> plan,
              plan::DType dtype);

  CudaDevice &device;
  std::optional<CudnnTarget> opened;
  std::optional<std::string> whyClosed;
  std::map<std::vector<int64_t>, Found> plans;
  Use forward{"forward"}, backward{"backward"};
};

} // namespace shardc::runtime::cuda

#endif
