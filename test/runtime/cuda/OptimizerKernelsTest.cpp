// The kernels of Optimizer.cu, compiled for the host, against the processor's bits.
#include "runtime/cuda/kernels/Optimizer.cu"
#include "runtime/simd/Simd.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace shardc::runtime;

namespace {

cuda::Address address(const void *memory) {
  return reinterpret_cast<cuda::Address>(memory);
}

template <typename T> struct Values {
  std::vector<T> master, gradient, first, second, third;

  explicit Values(size_t count) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < count; ++i) {
      master.push_back(T(normal(random)));
      gradient.push_back(T(normal(random)));
      first.push_back(T(std::fabs(normal(random)))); // also a sum of squares
      second.push_back(T(std::fabs(normal(random))));
      third.push_back(T(std::fabs(normal(random))));
    }
  }
};

constexpr double rate = 0.01, weightDecay = 0.1;

/// Runs the kernel and the processor's loop on the same values, and compares.
template <typename T>
void matches(void (*kernel)(cuda::OptimizerParameters),
             cuda::OptimizerParameters with, int states,
             const auto &reference) {
  constexpr size_t count = 1003;
  Values<T> got(count), expected(count);
  // Gradients are multiplied by 0.25 * 0.5 / (0.25 * 4 + 1e-6).
  cuda::RunNumbers numbers{
      0.25, rate, 1 - 0.9 * 0.9 * 0.9, std::sqrt(1 - std::pow(0.999, 3)),
      0.5,  2};
  double powers = NAN, skipped = 0;
  cuda::OptimizerRange ranges[] = {{0, 401, 0.5, weightDecay},
                                   {401, count, 0.5, weightDecay}};
  with.numbers = address(&numbers);
  with.norm = address(&powers), with.skipped = address(&skipped);
  with.ranges = address(ranges), with.rangeCount = 2;
  with.master = address(got.master.data());
  with.gradient = address(got.gradient.data());
  T *of[] = {got.first.data(), got.second.data(), got.third.data()};
  for (int i = 0; i < states; ++i)
    with.states[i] = address(of[i]);
  cuda::hostThread = {0, 1};
  kernel(with);
  ASSERT_EQ(got.master, expected.master) << "a skipped step wrote";
  EXPECT_EQ(skipped, 1);
  powers = 16;
  for (cuda::Count thread = 0; thread < 64; ++thread) {
    cuda::hostThread = {thread, 64};
    kernel(with);
  }
  reference(expected, 0.25 * (0.5 / (4 * 0.25 + 1e-6)), rate * 0.5,
            int64_t(count));
  EXPECT_EQ(got.master, expected.master);
  EXPECT_EQ(got.first, expected.first);
  EXPECT_EQ(got.second, expected.second);
  EXPECT_EQ(got.third, expected.third);
}

template <typename T>
void allMatch(auto adam, auto sgd, auto lion, auto adagrad) {
  const simd::Simd<T> &loops = simd::loops<T>();
  for (bool isDecoupled : {false, true})
    for (int states : {2, 3})
      for (double beta1 : {0.9, 0.3}) {
        cuda::OptimizerParameters with{};
        with.beta1 = beta1, with.beta2 = 0.999, with.epsilon = 1e-8;
        with.isDecoupled = isDecoupled;
        matches<T>(
            adam, with, states,
            [&](Values<T> &v, double factor, double rate, int64_t count) {
              simd::AdamNumbers numbers{factor,
                                        isDecoupled ? 0 : weightDecay,
                                        isDecoupled ? 1 - rate * weightDecay
                                                    : 1,
                                        beta1,
                                        0.999,
                                        rate / (1 - 0.9 * 0.9 * 0.9),
                                        std::sqrt(1 - std::pow(0.999, 3)),
                                        1e-8};
              loops.adam(v.master.data(), v.first.data(), v.second.data(),
                         states == 3 ? v.third.data() : nullptr,
                         v.gradient.data(), numbers, count);
            });
      }
  for (double momentum : {0.0, 0.9})
    for (bool nesterov : {false, true}) {
      cuda::OptimizerParameters with{};
      with.momentum = momentum, with.nesterov = nesterov;
      matches<T>(sgd, with, 1,
                 [&](Values<T> &v, double factor, double rate, int64_t count) {
                   loops.sgd(v.master.data(), v.first.data(), v.gradient.data(),
                             {factor, weightDecay, momentum, rate, nesterov},
                             count);
                 });
    }
  cuda::OptimizerParameters with{};
  with.beta1 = 0.9, with.beta2 = 0.99, with.epsilon = 1e-10;
  matches<T>(lion, with, 1,
             [&](Values<T> &v, double factor, double rate, int64_t count) {
               loops.lion(v.master.data(), v.first.data(), v.gradient.data(),
                          {factor, 1 - rate * weightDecay, 0.9, 0.99, rate},
                          count);
             });
  matches<T>(adagrad, with, 1,
             [&](Values<T> &v, double factor, double rate, int64_t count) {
               loops.adagrad(v.master.data(), v.first.data(), v.gradient.data(),
                             {factor, weightDecay, rate, 1e-10}, count);
             });
}

TEST(OptimizerKernels, HaveTheProcessorsBitsInFloat32) {
  allMatch<float>(cuda::optimizer_adam_f32_f32, cuda::optimizer_sgd_f32_f32,
                  cuda::optimizer_lion_f32_f32,
                  cuda::optimizer_adagrad_f32_f32);
}

TEST(OptimizerKernels, HaveTheProcessorsBitsInFloat64) {
  allMatch<double>(cuda::optimizer_adam_f64_f64, cuda::optimizer_sgd_f64_f64,
                   cuda::optimizer_lion_f64_f64,
                   cuda::optimizer_adagrad_f64_f64);
}

} // namespace
