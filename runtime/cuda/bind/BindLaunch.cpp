// Generated kernels, as launches; what all binders ask.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/bind/Bind.h"

#include <algorithm>

namespace shardc::runtime::cuda {

const char *suffixOf(plan::DType dtype) {
  switch (dtype) {
  case plan::FLOAT64:
    return "f64";
  case plan::FLOAT32:
    return "f32";
  case plan::BFLOAT16:
    return "bf16";
  case plan::FLOAT16:
    return "f16";
  case plan::INT64:
    return "i64";
  case plan::INT32:
    return "i32";
  case plan::INT16:
    return "i16";
  case plan::INT8:
    return "i8";
  case plan::UINT64:
    return "u64";
  case plan::UINT32:
    return "u32";
  case plan::UINT16:
    return "u16";
  case plan::UINT8:
    return "u8";
  case plan::BOOL:
    return "bool";
  default:
    fail("a type without kernels: ", plan::DType_Name(dtype));
  }
}

void requireWorkspace(const Tensor &workspace, int64_t bytes) {
  int64_t has =
      workspace ? workspace.elements() * int64_t(elementSize(workspace.dtype))
                : 0;
  if (has < bytes || (workspace && !workspace.contiguous()))
    fail("expects a workspace of at least ", bytes, " contiguous bytes, got ",
         has);
}

Grid gridFor(int64_t elements, unsigned threads) {
  // Twice what the largest GPUs hold at once; more blocks only cost starts.
  constexpr int64_t most = 132 * 16 * 2;
  int64_t blocks = (elements + threads - 1) / threads;
  return {unsigned(std::clamp<int64_t>(blocks, 1, most)), threads};
}

Task bind(CudaDevice &device, const entry::Launch &entry) {
  const plan::CudaTarget::Grid &grid =
      device.plan.target().cuda().grids(int(entry.kernel));
  CUfunction kernel = device.images.load(
      device.context.driver, device.context.capability, entry.kernel);
  std::vector<void *> addresses;
  for (const std::vector<Tensor> *tensors : {&entry.inputs, &entry.outputs})
    for (const Tensor &tensor : *tensors)
      addresses.push_back(tensor.data);
  Grid with = {unsigned(grid.blocks()), unsigned(grid.threads())};
  return [&device, kernel, with, addresses]() mutable {
    std::vector<void *> parameters;
    for (void *&address : addresses)
      parameters.push_back(&address);
    device.launch(kernel, with, parameters.data());
  };
}

} // namespace shardc::runtime::cuda
