// What cuDNN makes of a graph: one plan, which is found once and enqueued often.
#ifndef SHARDC_RUNTIME_CUDA_CUDNNPLAN_H
#define SHARDC_RUNTIME_CUDA_CUDNNPLAN_H

#include "runtime/cuda/Libraries.h"
#include "runtime/cuda/TensorGraph.h"

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

struct CudnnLimits {
  int64_t workspaceBytes;
  /// Two runs must give the same bits.
  bool deterministic;
};

/// An engine of cuDNN that is asked for by its number, with what it lets one
/// choose.
struct CudnnEngine {
  int64_t index;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> knobs;
};

class CudnnPlan {
public:
  /// The first plan of the library's heuristic within the limits, or the one of
  /// `engine`. Null where there is none: `why` then says it.
  static std::shared_ptr<CudnnPlan> make(const CudnnTarget &target,
                                         const TensorGraph &graph,
                                         const CudnnLimits &limits,
                                         std::string &why,
                                         const CudnnEngine *engine = nullptr);

  /// In the handle's stream. `workspace`: of at least workspaceBytes.
  void enqueue(const CudnnTarget &target, CUdeviceptr workspace) const;

  int64_t workspaceBytes = 0;

private:
  explicit CudnnPlan(CudnnDescriptor plan) : plan(std::move(plan)) {}

  CudnnDescriptor plan;
  /// Tensors of the graph that lie in memory, or are numbers.
  std::vector<int64_t> ids;
  std::vector<CUdeviceptr> addresses;
  std::vector<float> numbers;
};

} // namespace shardc::runtime::cuda

#endif
