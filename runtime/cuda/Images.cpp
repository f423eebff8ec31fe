// A model's kernels are found in the trainer's section and loaded.
#include "runtime/cuda/Images.h"

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"

namespace shardc::runtime::cuda {

CUmodule loadModule(const Driver &driver, const std::string &name,
                    const void *image) {
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUmodule module = nullptr;
  CUresult result =
      driver.cuModuleLoadDataEx.function(&module, image, 2, options, values);
  if (result != CUDA_SUCCESS)
    fail("kernel ", name, " does not load: ", driver.describe(result),
         *log ? concat(": ", printable(log)) : "");
  return module;
}

Images::Images(std::span<const std::byte> section, const plan::Plan &plan) {
  if (!kernels.ParseFromArray(section.data(), int(section.size())))
    fail("the trainer's section of kernels is none for GPUs; compile it again");
  if (kernels.kernels_size() != plan.kernels_size())
    fail("the plan has ", plan.kernels_size(), " kernels, the section ",
         kernels.kernels_size());
  if (plan.target().cuda().grids_size() != plan.kernels_size())
    fail("the target has ", plan.target().cuda().grids_size(),
         " grids, the plan ", plan.kernels_size(), " kernels");
  for (int i = 0; i < plan.kernels_size(); ++i)
    if (kernels.kernels(i).symbol() != plan.kernels(i).symbol())
      fail("kernel ", i, " is ", plan.kernels(i).symbol(), " in the plan, and ",
           kernels.kernels(i).symbol(), " in the section of kernels");
}

CUfunction Images::load(const Driver &driver, int capability,
                        uint32_t index) const {
  const plan::CudaKernels::Kernel &kernel = kernels.kernels(int(index));
  const void *image = kernel.ptx().c_str(); // ends with a zero byte
  for (const plan::CudaKernels::Cubin &cubin : kernel.cubins())
    if (cubin.capability() == capability)
      image = cubin.code().data();
  CUmodule module = loadModule(driver, kernel.symbol(), image);
  CUfunction function = nullptr;
  driver.cuModuleGetFunction(&function, module, kernel.symbol().c_str());
  return function;
}

} // namespace shardc::runtime::cuda
