// Tests of the CUDA driver that libcuda.so.1 gives: the emulated one, where
// LD_LIBRARY_PATH names its folder; the real one on a machine with a GPU.
#ifndef SHARDC_TEST_EMULATEDCUDA_SUITES_DRIVERSUITE_H
#define SHARDC_TEST_EMULATEDCUDA_SUITES_DRIVERSUITE_H

#include "runtime/cuda/api/Driver.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace shardc::test::cuda {

using namespace shardc::cuda;

struct Driver {
#define SHARDC_MEMBER(name, symbol, arguments)                                 \
  CUresult(*name) arguments = nullptr;
  SHARDC_CUDA_DRIVER(SHARDC_MEMBER)
#undef SHARDC_MEMBER
};

/// Opened once; null where there is no driver.
const Driver *driver();
bool isEmulated();

#define CHECK_CUDA(call) ASSERT_EQ(cuda.call, CUDA_SUCCESS)
#define EXPECT_CUDA(call) EXPECT_EQ(cuda.call, CUDA_SUCCESS)

/// A context of device 0, a stream and pinned memory.
class DriverSuite : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// The kernel `name` of PTX without its header.
  CUfunction kernel(const std::string &body, const char *name);
  CUdeviceptr allocate(size_t bytes);
  CUstream newStream();
  CUevent newEvent(unsigned flags = CU_EVENT_DISABLE_TIMING);
  /// Through pinned memory, waiting.
  void upload(CUdeviceptr to, const std::vector<uint32_t> &words);
  std::vector<uint32_t> download(CUdeviceptr from, size_t words);
  void launch(CUfunction function, unsigned blocks, unsigned threads,
              std::vector<void *> parameters, CUstream in = nullptr);

  const Driver &cuda = *driver();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  uint32_t *pinned = nullptr;
  static constexpr size_t pinnedWords = 1 << 16;

private:
  std::vector<CUmodule> modules;
};

/// Of elements that are 32-bit words: `add1 (p, n)`: p[i] += 1; `copyWords (to,
/// from, n)`; `spin (p, n)`: takes long, then p[i] = 7.
extern const char *const wordKernels;

} // namespace shardc::test::cuda

#endif
