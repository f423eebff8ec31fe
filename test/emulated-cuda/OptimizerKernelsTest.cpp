// The PTX of optimizer steps, beside the same source compiled for the host, whose
// bits are the processor's (test/runtime/cuda/OptimizerKernelsTest.cpp).
#include "RunKernel.h"
#include "runtime/cuda/kernels/Optimizer.cu"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

constexpr int64_t count = 1500; // more than a grid takes at once

/// Everything that a step reads and writes, `shift` elements behind where packs
/// may lie.
template <typename T, typename G> struct State {
  static constexpr int64_t room = count + 8;
  int64_t shift;
  alignas(16) T master[room], states[3][room];
  alignas(16) G gradient[room];
  alignas(16) float copy[room] = {}; // of any type
  double skipped = 0;

  explicit State(int64_t shift) : shift(shift) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> positive(0, 2);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < room; ++i) {
      runtime::cuda::round(normal(random), master[i]);
      runtime::cuda::round(normal(random), gradient[i]);
      for (auto &state : states)
        runtime::cuda::round(positive(random), state[i]);
    }
  }
  OptimizerParameters place(OptimizerParameters with) {
    with.master = addressIn(master + shift);
    with.gradient = addressIn(gradient + shift);
    for (int i = 0; i < 3; ++i)
      with.states[i] = addressIn(states[i] + shift);
    with.copy = addressIn(copy);
    with.skipped = addressIn(&skipped);
    return with;
  }
  bool operator==(const State &other) const {
    auto equal = [](const auto &a, const auto &b) {
      return std::memcmp(a, b, sizeof(a)) == 0;
    };
    return equal(master, other.master) && equal(states, other.states) &&
           equal(copy, other.copy) && skipped == other.skipped;
  }
};

template <typename T, typename G>
void compare(const char *name, void (*function)(OptimizerParameters)) {
  RunNumbers numbers{0.37, 0.01, 1 - 0.9 * 0.9, std::sqrt(1 - 0.998), 1, 2};
  double powers = 30, loss = 2;
  OptimizerRange ranges[] = {
      {3, 700, 0.5, 0.1}, {700, 701, 1, 0}, {801, count - 5, 2, 0.03}};
  OptimizerParameters with{};
  with.numbers = addressIn(&numbers);
  with.norm = addressIn(&powers), with.loss = addressIn(&loss);
  with.ranges = addressIn(ranges), with.rangeCount = 3;
  with.beta1 = 0.9, with.beta2 = 0.999, with.epsilon = 1e-8;
  with.momentum = 0.9, with.isDecoupled = 1, with.nesterov = 1;
  for (Count copyType : {CopyFloat32, CopyBfloat16, CopyFloat16})
    for (int64_t shift : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << name << ", copy " << copyType << ", shift " << shift);
      with.copyType = copyType;
      auto host = std::make_unique<State<T, G>>(shift),
           device = std::make_unique<State<T, G>>(shift);
      hostThread = {0, 1};
      function(host->place(with));
      EXPECT_FALSE(*host == *device); // which has done nothing yet
      runKernel("Optimizer", name, 256, device->place(with));
      EXPECT_TRUE(*host == *device);
    }
  for (double *wrong : {&powers, &loss}) {
    double right = *wrong;
    *wrong = NAN;
    auto before = std::make_unique<State<T, G>>(0),
         device = std::make_unique<State<T, G>>(0);
    runKernel("Optimizer", name, 256, device->place(with));
    before->skipped = 1;
    EXPECT_TRUE(*before == *device) << name << " is not skipped";
    *wrong = right;
  }
}

#define COMPARE(name, T, G) compare<T, G>(#name, name);
#define COMPARE_ALL(kind)                                                      \
  TEST(OptimizerPtx, kind) {                                                   \
    COMPARE(optimizer_##kind##_f64_f64, double, double)                        \
    COMPARE(optimizer_##kind##_f32_f32, float, float)                          \
    COMPARE(optimizer_##kind##_f32_bf16, float, Bf16)                          \
    COMPARE(optimizer_##kind##_f32_f16, float, F16)                            \
    COMPARE(optimizer_##kind##_bf16_f32, Bf16, float)                          \
    COMPARE(optimizer_##kind##_bf16_bf16, Bf16, Bf16)                          \
    COMPARE(optimizer_##kind##_f16_f32, F16, float)                            \
    COMPARE(optimizer_##kind##_f16_f16, F16, F16)                              \
  }
COMPARE_ALL(adam)
COMPARE_ALL(sgd)
COMPARE_ALL(lion)
COMPARE_ALL(adagrad)

} // namespace
} // namespace shardc::test
