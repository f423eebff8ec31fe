// What a mutant calls that nobody should.
#include "Api.h"
#include "Mutant.h"

namespace shardc::test::cuda {

CUresult callBefore(const std::string &description, CUstream stream,
                    CUdeviceptr memory) {
  if (!isMutated("before", description))
    return CUDA_SUCCESS;
  const std::string &function = mutantText(0);
  if (function == "cuMemAlloc")
    return cuMemAlloc_v2(&memory, 256);
  if (function == "cuMemFree")
    return cuMemFree_v2(allocationOf(memory).value_or(Allocation()).begin);
  if (function == "cuStreamSynchronize")
    return cuStreamSynchronize(stream);
  if (function == "cuStreamQuery")
    return cuStreamQuery(stream);
  if (function == "cuEventSynchronize") {
    CUevent event = nullptr;
    cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    cuEventRecord(event, stream);
    return cuEventSynchronize(event);
  }
  if (function == "read") {
    *reinterpret_cast<volatile char *>(memory);
    return CUDA_SUCCESS;
  }
  finding("no mutant calls " + function + ": driver/Mutant.h has the list");
}

} // namespace shardc::test::cuda
