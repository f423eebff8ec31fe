// Memory, modules, launches, streams and events.
#include "DriverSuite.h"

#include <cstring>
#include <numeric>

namespace shardc::test::cuda {
namespace {

std::vector<uint32_t> countUp(size_t count, uint32_t from = 0) {
  std::vector<uint32_t> words(count);
  std::iota(words.begin(), words.end(), from);
  return words;
}

TEST_F(DriverSuite, SaysWhatThereIs) {
  int version = 0, count = 0, major = 0;
  EXPECT_CUDA(cuDriverGetVersion(&version));
  EXPECT_GE(version, 12000);
  EXPECT_CUDA(cuDeviceGetCount(&count));
  EXPECT_GE(count, 1);
  EXPECT_CUDA(cuDeviceGetAttribute(
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  EXPECT_GE(major, 8);
  size_t total = 0, free = 0, all = 0;
  EXPECT_CUDA(cuDeviceTotalMem(&total, 0));
  EXPECT_CUDA(cuMemGetInfo(&free, &all));
  EXPECT_EQ(total, all);
  EXPECT_LE(free, all);
  char bus[16] = "";
  EXPECT_CUDA(cuDeviceGetPCIBusId(bus, 16, 0));
  EXPECT_EQ(std::strlen(bus), 12u) << bus;
  int least = 1, greatest = 1;
  EXPECT_CUDA(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  CUdevice device = 0;
  EXPECT_EQ(cuda.cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  const char *text = nullptr;
  EXPECT_CUDA(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_CUDA(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuda.cuGetErrorName(123456, &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverSuite, NeedsAContext) {
  CUdeviceptr address = 0;
  cuda.cuCtxSetCurrent(nullptr);
  EXPECT_EQ(cuda.cuMemAlloc(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CUDA(cuCtxSetCurrent(context));
}

TEST_F(DriverSuite, Allocates) {
  CUdeviceptr a = allocate(1), b = allocate(1000);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 256, 0u);
  EXPECT_EQ(cuda.cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuMemAlloc(&a, size_t(1) << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(cuMemFree(b));
  EXPECT_CUDA(cuMemFree(0));
}

TEST_F(DriverSuite, CopiesAndFills) {
  CUdeviceptr a = allocate(4000), b = allocate(4000);
  upload(a, countUp(1000));
  EXPECT_CUDA(cuMemcpyDtoDAsync(b, a, 4000, stream));
  EXPECT_CUDA(cuMemsetD8Async(b + 4, 0x11, 8, stream));
  std::vector<uint32_t> wanted = countUp(1000);
  wanted[1] = wanted[2] = 0x11111111;
  EXPECT_EQ(download(b, 1000), wanted);
  EXPECT_EQ(cuda.cuMemcpyHtoDAsync(a, pinned, 4004, stream),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverSuite, RunsKernels) {
  CUfunction add = kernel(wordKernels, "add1");
  CUdeviceptr a = allocate(4000);
  upload(a, countUp(1000));
  uint32_t n = 999;
  launch(add, 8, 128, {&a, &n});
  n = 0; // was taken by the launch
  std::vector<uint32_t> wanted = countUp(1000, 1);
  wanted[999] = 999;
  EXPECT_EQ(download(a, 1000), wanted);
}

TEST_F(DriverSuite, RefusesLaunches) {
  CUfunction add = kernel(wordKernels, "add1");
  CUdeviceptr a = allocate(4);
  uint32_t n = 1;
  void *parameters[] = {&a, &n};
  auto with = [&](unsigned grid, unsigned block, unsigned shared) {
    return cuda.cuLaunchKernel(add, grid, 1, 1, block, 1, 1, shared, stream,
                               parameters, nullptr);
  };
  EXPECT_EQ(with(0, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 64 << 10), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_CUDA(
      cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuda.cuFuncSetAttribute(
                add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverSuite, RefusesImages) {
  CUmodule module = nullptr;
  auto load = [&](const char *image) {
    return cuda.cuModuleLoadDataEx(&module, image, 0, nullptr, nullptr);
  };
  EXPECT_NE(load("no image\n"), CUDA_SUCCESS);
  EXPECT_EQ(load(".version 99.0\n.target sm_80\n.address_size 64\n"),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  char log[1024] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER,
                          CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  const char *wrong = ".version 8.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry k()\n{\n  frobnicate.b32 %r1, 2;\n  "
                      "ret;\n}\n";
  EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, wrong, 2, names, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(log).find("frobnicate"), std::string::npos) << log;
}

TEST_F(DriverSuite, FindsFunctions) {
  std::string text =
      std::string(".version 8.0\n.target sm_80\n.address_size 64\n") +
      wordKernels;
  CUmodule module = nullptr;
  CHECK_CUDA(cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr));
  CUfunction function = nullptr, again = nullptr;
  EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "other"),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_CUDA(cuModuleGetFunction(&function, module, "add1"));
  EXPECT_CUDA(cuModuleGetFunction(&again, module, "add1"));
  EXPECT_EQ(function, again);
  EXPECT_CUDA(cuModuleUnload(module));
}

TEST_F(DriverSuite, StreamsAreAsynchronous) {
  CUfunction spin = kernel(wordKernels, "spin");
  CUdeviceptr a = allocate(256);
  upload(a, countUp(64));
  CUevent end = newEvent();
  uint32_t n = 64;
  launch(spin, 1, 64, {&a, &n});
  EXPECT_CUDA(cuEventRecord(end, stream));
  EXPECT_EQ(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuda.cuEventQuery(end), CUDA_ERROR_NOT_READY);
  EXPECT_CUDA(cuEventSynchronize(end));
  EXPECT_CUDA(cuEventQuery(end));
  EXPECT_EQ(download(a, 64), std::vector<uint32_t>(64, 7));
}

TEST_F(DriverSuite, EventsOrderStreams) {
  CUfunction spin = kernel(wordKernels, "spin");
  CUfunction copy = kernel(wordKernels, "copyWords");
  CUdeviceptr a = allocate(256), b = allocate(256);
  upload(a, countUp(64));
  CUstream other = newStream();
  CUevent done = newEvent(), copied = newEvent();
  uint32_t n = 64;
  // Never recorded: nothing to wait for.
  EXPECT_CUDA(cuStreamWaitEvent(other, done, 0));
  launch(spin, 1, 64, {&a, &n});
  EXPECT_CUDA(cuEventRecord(done, stream));
  EXPECT_CUDA(cuStreamWaitEvent(other, done, 0));
  launch(copy, 1, 64, {&b, &a, &n}, other);
  EXPECT_CUDA(cuEventRecord(copied, other));
  EXPECT_CUDA(cuStreamWaitEvent(stream, copied, 0));
  EXPECT_EQ(download(b, 64), std::vector<uint32_t>(64, 7));
  EXPECT_CUDA(cuEventDestroy(done));
  EXPECT_CUDA(cuStreamSynchronize(other));
  EXPECT_CUDA(cuStreamDestroy(other));
}

TEST_F(DriverSuite, EventsTakeTimes) {
  CUfunction spin = kernel(wordKernels, "spin");
  CUdeviceptr a = allocate(256);
  upload(a, countUp(64));
  CUevent begin = newEvent(CU_EVENT_DEFAULT), end = newEvent(CU_EVENT_DEFAULT);
  uint32_t n = 64;
  EXPECT_CUDA(cuEventRecord(begin, stream));
  launch(spin, 1, 64, {&a, &n});
  EXPECT_CUDA(cuEventRecord(end, stream));
  float milliseconds = 0;
  EXPECT_CUDA(cuEventSynchronize(end));
  EXPECT_CUDA(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GT(milliseconds, 0);
  CUevent untimed = newEvent();
  EXPECT_CUDA(cuEventRecord(untimed, stream));
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, begin, untimed),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverSuite, HostFunctionsAndFlagsComeInOrder) {
  CUfunction spin = kernel(wordKernels, "spin");
  CUdeviceptr a = allocate(256);
  upload(a, countUp(64));
  uint32_t n = 64;
  uint32_t *flag = pinned + 1000;
  *flag = 0;
  struct Seen {
    uint32_t *flag, value = 99;
  } seen{flag};
  launch(spin, 1, 64, {&a, &n});
  EXPECT_CUDA(
      cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(flag), 5, 0));
  EXPECT_CUDA(cuLaunchHostFunc(
      stream,
      [](void *data) {
        auto *to = static_cast<Seen *>(data);
        to->value = *to->flag;
      },
      &seen));
  EXPECT_CUDA(cuStreamWriteValue32(stream, a, 9, 0));
  std::vector<uint32_t> words = download(a, 64);
  EXPECT_EQ(words[0], 9u);
  EXPECT_EQ(words[1], 7u);
  EXPECT_EQ(seen.value, 5u);
}

TEST_F(DriverSuite, ErrorsStick) {
  CUfunction trap =
      kernel(".visible .entry fails()\n{\n  trap;\n  ret;\n}\n", "fails");
  // The context is lost for good, so another process has it.
  EXPECT_EXIT(
      {
        launch(trap, 1, 1, {});
        CUresult first = cuda.cuStreamSynchronize(stream);
        CUdeviceptr address = 0;
        CUresult second = cuda.cuMemAlloc(&address, 4);
        std::fprintf(stderr, "first %d second %d\n", first, second);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "first 719 second 719");
}

} // namespace
} // namespace shardc::test::cuda

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Threads of streams do not survive a fork.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
