// What cuDNN makes of a graph: one plan, which is found once and enqueued often.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNPLAN_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNPLAN_H

#include "runtime/cuda/Libraries.h"
#include "runtime/cuda/attention/TensorGraph.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime::cuda {

/// A descriptor of cuDNN's, which is destroyed with this.
class CudnnDescriptor {
public:
  CudnnDescriptor(const Cudnn &library, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor &&other) noexcept;
  CudnnDescriptor &operator=(CudnnDescriptor &&) = delete;

  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const T &value) {
    setMany(name, type, 1, &value);
  }
  template <typename Values>
  void setAll(cudnnBackendAttributeName_t name,
              cudnnBackendAttributeType_t type, const Values &values) {
    setMany(name, type, int64_t(values.size()), values.data());
  }
  void setMany(cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t count,
               const void *elements);
  /// Throws a CudnnError, as all of these do.
  void finish();

  const Cudnn &library;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

/// For which device plans are made: one that is here, by its handle, or one that
/// is described, on which nothing runs.
class CudnnTarget {
public:
  CudnnTarget(const Cudnn &library, cudnnHandle_t handle, int capability);
  /// `description`: the JSON that cuDNN has for a device's properties.
  CudnnTarget(const Cudnn &library, std::string_view description,
              int capability);

  const Cudnn &library;
  cudnnHandle_t handle = nullptr;
  std::unique_ptr<CudnnDescriptor> description;
  int capability; // 90 of compute capability 9.0
};

/// An engine of cuDNN that is asked for by its number, with what it lets one
/// choose.
struct CudnnEngine {
  int64_t index;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> knobs;
};

class CudnnPlan {
public:
  /// The first plan of the library's heuristic, or the one of `engine`, that
  /// takes at most so many bytes of workspace. Null where there is none: `why`
  /// then says it.
  static std::shared_ptr<CudnnPlan> make(const CudnnTarget &target,
                                         const TensorGraph &graph,
                                         int64_t workspaceBytes,
                                         std::string &why,
                                         const CudnnEngine *engine = nullptr);

  /// In the handle's stream. `graph`: of the signature that the plan was made
  /// for; `workspace`: of at least workspaceBytes.
  void enqueue(const CudnnTarget &target, const TensorGraph &graph,
               CUdeviceptr workspace) const;

  int64_t workspaceBytes = 0;

private:
  explicit CudnnPlan(CudnnDescriptor plan) : plan(std::move(plan)) {}

  /// What the plan was made of, which outlives it.
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor plan;
};

} // namespace shardc::runtime::cuda

#endif
