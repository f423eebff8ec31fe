// A file's PTX is translated once for each size of blocks.
#include "RunKernel.h"
#include "EmulatedKernels.h"
#include "runtime/cuda/OwnKernels.h"

#include <gtest/gtest.h>
#include <map>
#include <optional>

namespace shardc::test {

static EmulatedKernels &emulated(const std::string &file, int64_t threads) {
  static std::map<std::pair<std::string, int64_t>,
                  std::optional<EmulatedKernels>>
      all;
  std::optional<EmulatedKernels> &kernels = all[{file, threads}];
  if (!kernels) {
    gpu::GpuKernels ptx;
    ptx.kernels.emplace_back();
    ptx.kernels[0].grid = kernelBlocks, ptx.kernels[0].block = threads;
    ptx.kernels[0].ptx = runtime::cuda::ownKernels(file);
    kernels.emplace(llvm::cantFail(EmulatedKernels::fromPtx(ptx)));
  }
  return *kernels;
}

void runKernel(const char *file, const std::string &kernel, int64_t threads,
               const void *parameters, bool oneBlock) {
  EmulatedKernels &kernels = emulated(file, threads);
  ASSERT_GT(kernels.grid(kernel), 0) << "there is no kernel " << kernel;
  for (int64_t block = 0; block < (oneBlock ? 1 : kernelBlocks); ++block) {
    llvm::Error error = kernels.runBlock(
        kernel, static_cast<void *const *>(const_cast<void *>(parameters)),
        block, false);
    ASSERT_FALSE(error) << kernel << ": " << llvm::toString(std::move(error));
  }
}

} // namespace shardc::test
