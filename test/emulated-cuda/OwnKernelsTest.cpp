// The PTX of the runtime's own kernels, beside the same sources compiled for the
// host: equal bits.
#include "runtime/cuda/OwnKernels.h"
#include "EmulatedKernels.h"
#include "runtime/cuda/kernels/Copy.cu"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

constexpr int64_t blocks = 2, count = 700; // more than the grid has threads

EmulatedKernels &emulated(const char *file) {
  static std::map<std::string, std::optional<EmulatedKernels>> all;
  std::optional<EmulatedKernels> &kernels = all[file];
  if (!kernels) {
    gpu::GpuKernels ptx;
    ptx.kernels.emplace_back();
    ptx.kernels[0].grid = blocks, ptx.kernels[0].block = copyThreads;
    ptx.kernels[0].ptx = ownKernels(file);
    kernels.emplace(llvm::cantFail(EmulatedKernels::fromPtx(ptx)));
  }
  return *kernels;
}

void onDevice(const char *file, const char *kernel, const auto &parameters) {
  for (int64_t block = 0; block < blocks; ++block) {
    llvm::Error error = emulated(file).runBlock(
        kernel, reinterpret_cast<void *const *>(&parameters), block, false);
    ASSERT_FALSE(error) << llvm::toString(std::move(error));
  }
}

Address address(std::vector<double> &values) {
  return reinterpret_cast<Address>(values.data());
}

bool equal(const std::vector<double> &a, const std::vector<double> &b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Bytes for `count` elements of any type: finite numbers, zeros and ends.
template <typename T> std::vector<double> numbers(unsigned seed) {
  std::vector<double> values(count);
  T *to = reinterpret_cast<T *>(values.data());
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < count; ++i)
    runtime::cuda::round(i % 50 == 7 ? std::numeric_limits<double>::infinity()
                         : i % 50 == 9
                             ? -0.0
                             : std::ldexp(normal(random), i % 64 - 40),
                         to[i]);
  return values;
}

#define CAST(from, From, to, To)                                               \
  do {                                                                         \
    SCOPED_TRACE("cast_" #from "_" #to);                                       \
    std::vector<double> source = numbers<From>(1);                             \
    std::vector<double> host(count), device(count);                            \
    hostThread = {0, 1};                                                       \
    cast_##from##_##to({address(source), address(host), count});               \
    onDevice("Copy", "cast_" #from "_" #to,                                    \
             CastParameters{address(source), address(device), count});         \
    EXPECT_TRUE(equal(host, device));                                          \
  } while (false)

TEST(OwnKernels, Cast) {
  CAST(f64, double, f32, float);
  CAST(f64, double, bf16, Bf16);
  CAST(f64, double, f16, F16);
  CAST(f32, float, f64, double);
  CAST(f32, float, bf16, Bf16);
  CAST(f32, float, f16, F16);
  CAST(bf16, Bf16, f64, double);
  CAST(bf16, Bf16, f32, float);
  CAST(bf16, Bf16, f16, F16);
  CAST(f16, F16, f64, double);
  CAST(f16, F16, f32, float);
  CAST(f16, F16, bf16, Bf16);
}

} // namespace
} // namespace shardc::test
