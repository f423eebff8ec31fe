// Sizes double until the device, and not its host, is what takes the time.
#include "runtime/cuda/Rates.h"

#include "runtime/base/DType.h"
#include "runtime/cuda/CudaDevice.h"

#include <chrono>
#include <functional>

namespace shardc::runtime::cuda {
namespace {

constexpr int64_t firstRows = 64, mostRows = 8192;
constexpr int64_t firstBytes = int64_t(1) << 16, mostBytes = int64_t(1) << 28;
constexpr double leastSeconds = 1e-3;

/// Memory for the largest of them: two operands, and a result.
struct Scratch {
  explicit Scratch(CudaDevice &device)
      : a(device.allocate("self-test's products", 2 * mostBytes)),
        b(device.allocate("self-test's products", mostBytes)),
        workspace(device.allocate("self-test's products", workspaceBytes)) {}

  static constexpr int64_t workspaceBytes = int64_t(32) << 20;
  std::byte *a, *b, *workspace;
};

Tensor tensorOf(std::byte *data, plan::DType dtype,
                std::vector<int64_t> shape) {
  return {data, dtype, shape, rowMajorStrides(shape)};
}

double secondsOf(CudaDevice &device, entry::Any what) {
  std::unique_ptr<DeviceProgram> program = device.newProgram();
  constexpr int64_t times = 4;
  for (int64_t i = 0; i < times; ++i)
    program->add({what, 0, "the self-test"});
  auto once = [&] {
    auto begin = std::chrono::steady_clock::now();
    Measurements measurements;
    program->run(0, program->size(), {}, measurements);
    device.settle();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
               .count() /
           double(times);
  };
  // The second run is recorded as a graph.
  once();
  once();
  return std::min(once(), once());
}

double productsPerSecond(CudaDevice &device, const Scratch &scratch,
                         plan::DType dtype) {
  for (int64_t n = firstRows;; n *= 2) {
    auto matrix = [&](std::byte *data) {
      entry::Matrix made;
      made.tensor = tensorOf(data, dtype, {n, n});
      made.rows = made.columns = made.stride = n;
      return made;
    };
    int64_t bytes = n * n * int64_t(elementSize(dtype));
    entry::Gemm product;
    product.a = matrix(scratch.a);
    product.b = matrix(scratch.a + bytes);
    product.c = matrix(scratch.b);
    product.workspace =
        tensorOf(scratch.workspace, plan::UINT8, {Scratch::workspaceBytes});
    double seconds = secondsOf(device, product);
    if (seconds >= leastSeconds || 2 * n > mostRows || 4 * bytes > mostBytes)
      return 2 * double(n) * double(n) * double(n) / seconds;
  }
}

/// A copy reads and writes.
double copiesPerSecond(CudaDevice &device, const Scratch &scratch) {
  for (int64_t bytes = firstBytes;; bytes *= 2) {
    std::vector<int64_t> shape = {bytes / int64_t(sizeof(float))};
    entry::Copy copy{tensorOf(scratch.a, plan::FLOAT32, shape),
                     tensorOf(scratch.b, plan::FLOAT32, shape)};
    double seconds = secondsOf(device, copy);
    if (seconds >= leastSeconds || 2 * bytes > mostBytes)
      return 2 * double(bytes) / seconds;
  }
}

} // namespace

DeviceRates ratesOf(CudaDevice &device) {
  Scratch scratch(device);
  DeviceRates rates;
  rates.flops16 = productsPerSecond(device, scratch, plan::BFLOAT16);
  rates.flops32 = productsPerSecond(device, scratch, plan::FLOAT32);
  rates.flops64 = productsPerSecond(device, scratch, plan::FLOAT64);
  rates.memoryBandwidth = copiesPerSecond(device, scratch);
  rates.memory = double(device.context.totalBytes());
  return rates;
}

} // namespace shardc::runtime::cuda
