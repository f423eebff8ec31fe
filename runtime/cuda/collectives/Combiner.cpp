// The processor's bits: runtime/cuda/kernels/Sums.cu.
#include "runtime/cuda/collectives/Combiner.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/bind/Bind.h"
#include "runtime/cuda/kernels/SumsParameters.h"

namespace shardc::runtime::cuda {

Sum Sum::of(const Tensor &result, const Tensor &accumulator) {
  return {addressOf(result), accumulator ? addressOf(accumulator) : 0,
          result.elements(), result.dtype};
}

Combiner::Combiner(CudaDevice &device, plan::DType dtype)
    : device(device),
      sum(device.ownKernel("Sums", concat("ordered_sum_", suffixOf(dtype)))),
      largest(
          device.ownKernel("Sums", concat("ordered_max_", suffixOf(dtype)))) {}

void Combiner::enqueue(CUstream stream, const Sum &of, CUdeviceptr slices,
                       int64_t stride, int ranks, bool isLargest) const {
  OrderedSumParameters parameters = {};
  parameters.slices = slices;
  parameters.result = of.result;
  parameters.running = of.running;
  parameters.count = of.count;
  parameters.stride = stride;
  parameters.ranks = ranks;
  const StepNumbers &numbers = device.numbers;
  parameters.begins = !of.running || numbers.microBatch == 0;
  parameters.ends = !of.running || numbers.endsStep();
  void *each[] = {&parameters};
  device.launchIn(stream, isLargest ? largest : sum, gridFor(of.count), each);
}

} // namespace shardc::runtime::cuda
