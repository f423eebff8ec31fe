// Adds up arrays that lie in a GPU's memory, and what earlier micro-batches left.
#ifndef SHARDC_RUNTIME_CUDA_COLLECTIVES_COMBINER_H
#define SHARDC_RUNTIME_CUDA_COLLECTIVES_COMBINER_H

#include "runtime/base/Tensor.h"
#include "runtime/cuda/CudaDevice.h"

namespace shardc::runtime::cuda {

/// What becomes of a vector of which ranks bring one each.
struct Sum {
  CUdeviceptr result = 0, running = 0; // running: 0 of none
  int64_t count = 0;
  plan::DType dtype = plan::INVALID;

  /// `accumulator`: may be empty.
  static Sum of(const Tensor &result, const Tensor &accumulator);
};

class Combiner {
public:
  Combiner(CudaDevice &device, plan::DType dtype);

  /// Adds up, or takes the largest of, slices that lie `stride` elements apart,
  /// behind the running sum of earlier micro-batches. A single slice may be the
  /// result.
  void enqueue(CUstream stream, const Sum &of, CUdeviceptr slices,
               int64_t stride, int ranks, bool isLargest) const;

private:
  CudaDevice &device;
  CUfunction sum, largest;
};

} // namespace shardc::runtime::cuda

#endif
