// The PTX of the runtime's own kernels, beside the same sources compiled for the
// host: equal bits.
#include "runtime/cuda/OwnKernels.h"
#include "EmulatedKernels.h"
#include "runtime/cuda/kernels/Copy.cu"
#include "runtime/cuda/kernels/Optimizer.cu"

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
  {                                                                            \
    SCOPED_TRACE("cast_" #from "_" #to);                                       \
    std::vector<double> source = numbers<From>(1);                             \
    std::vector<double> host(count), device(count);                            \
    hostThread = {0, 1};                                                       \
    cast_##from##_##to({address(source), address(host), count});               \
    onDevice("Copy", "cast_" #from "_" #to,                                    \
             CastParameters{address(source), address(device), count});         \
    EXPECT_TRUE(equal(host, device));                                          \
  }

TEST(OwnKernels, Cast) {
  CAST(f64, double, f32, float)
  CAST(f64, double, bf16, Bf16)
  CAST(f64, double, f16, F16) CAST(f32, float, f64, double)
      CAST(f32, float, bf16, Bf16) CAST(f32, float, f16, F16)
          CAST(bf16, Bf16, f64, double) CAST(bf16, Bf16, f32, float)
              CAST(bf16, Bf16, f16, F16) CAST(f16, F16, f64, double)
                  CAST(f16, F16, f32, float) CAST(f16, F16, bf16, Bf16)
}

/// Everything that an optimizer reads and writes.
template <typename T, typename G> struct State {
  std::vector<double> master = positive(3), gradient = numbersOf(4);
  std::vector<double> states[3] = {positive(5), positive(6), positive(7)};
  std::vector<double> copy = std::vector<double>(count);

  static std::vector<double> positive(unsigned seed) {
    std::vector<double> values(count);
    T *to = reinterpret_cast<T *>(values.data());
    std::mt19937 random(seed);
    for (int64_t i = 0; i < count; ++i)
      to[i] = T(std::uniform_real_distribution<double>(0, 2)(random));
    return values;
  }
  static std::vector<double> numbersOf(unsigned seed) {
    std::vector<double> values(count);
    G *to = reinterpret_cast<G *>(values.data());
    std::mt19937 random(seed);
    for (int64_t i = 0; i < count; ++i)
      runtime::cuda::round(std::normal_distribution<double>()(random), to[i]);
    return values;
  }
  void place(OptimizerParameters &with) {
    with.master = address(master), with.gradient = address(gradient);
    for (int i = 0; i < 3; ++i)
      with.states[i] = address(states[i]);
    with.copy = address(copy);
  }
  bool operator==(const State &other) const {
    return equal(master, other.master) && equal(copy, other.copy) &&
           equal(states[0], other.states[0]) &&
           equal(states[1], other.states[1]) &&
           equal(states[2], other.states[2]);
  }
};

template <typename T, typename G>
void compareOptimizer(const char *name, void (*function)(OptimizerParameters)) {
  SCOPED_TRACE(name);
  StepScalars scalars{0.37, 0.01, 1 - 0.9 * 0.9, std::sqrt(1 - 0.998), 0};
  OptimizerParameters with{};
  with.scalars = reinterpret_cast<Address>(&scalars);
  with.begin = 3, with.end = count - 5;
  with.learningRateScale = 0.5, with.weightDecay = 0.1;
  with.beta1 = 0.9, with.beta2 = 0.999, with.epsilon = 1e-8;
  with.momentum = 0.9, with.isDecoupled = 1, with.nesterov = 1;
  State<T, G> host, device;
  hostThread = {0, 1};
  host.place(with);
  function(with);
  EXPECT_FALSE(host == device); // which has done nothing yet
  device.place(with);
  onDevice("Optimizer", name, with);
  EXPECT_TRUE(host == device);
}

#define OPTIMIZER(name, T, G) compareOptimizer<T, G>(#name, name);
#define OPTIMIZERS(kind)                                                       \
  OPTIMIZER(optimizer_##kind##_f32_f32_f32, float, float)                      \
  OPTIMIZER(optimizer_##kind##_f32_f32_bf16, float, float)                     \
  OPTIMIZER(optimizer_##kind##_f32_f32_f16, float, float)                      \
  OPTIMIZER(optimizer_##kind##_f32_bf16_f32, float, Bf16)                      \
  OPTIMIZER(optimizer_##kind##_f32_bf16_bf16, float, Bf16)                     \
  OPTIMIZER(optimizer_##kind##_f32_bf16_f16, float, Bf16)                      \
  OPTIMIZER(optimizer_##kind##_f32_f16_f32, float, F16)                        \
  OPTIMIZER(optimizer_##kind##_f32_f16_bf16, float, F16)                       \
  OPTIMIZER(optimizer_##kind##_f32_f16_f16, float, F16)                        \
  OPTIMIZER(optimizer_##kind##_f64_f64_f64, double, double)

TEST(OwnKernels, OptimizersStep) {
  OPTIMIZERS(adam)
  OPTIMIZERS(sgd)
  OPTIMIZERS(lion)
  OPTIMIZERS(adagrad)
}

} // namespace
} // namespace shardc::test
