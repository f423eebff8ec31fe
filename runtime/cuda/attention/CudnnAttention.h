// Attention by cuDNN, of one device: which entries it computes, and which the
// own kernels do.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNATTENTION_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_CUDNNATTENTION_H

#include "runtime/cuda/attention/CudnnChoice.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/device/Platform.h"

#include <optional>
#include <string>

namespace shardc::runtime::cuda {

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
  /// Of one direction: how many entries have what, and the first reason for an
  /// own kernel.
  struct Use {
    const char *direction;
    int64_t cudnn = 0, own = 0;
    std::string why = {};
    bool isSteady = true; // two runs give the same bits
    std::string describe(const std::string &library) const;
  };
  /// Opens the library when first asked; whether it is there.
  bool open(std::string &why);
  Task take(Use &use, std::optional<CudnnChoice::Made> made,
            const std::string &why, plan::DType dtype);
  void addTasks(std::vector<Task> &tasks, const CudnnSteps &steps,
                const std::shared_ptr<CudnnPlan> &plan, plan::DType dtype);

  CudaDevice &device;
  bool isAsked = false; // whether it was tried to open the library
  std::string whyClosed;
  std::optional<CudnnTarget> target;
  std::optional<CudnnChoice> choice;
  Use forward{"forward"}, backward{"backward"};
};

} // namespace shardc::runtime::cuda

#endif
