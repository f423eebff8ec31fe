// Chains of fused multiply-adds, enough of them to fill the pipelines.
#include "test/bench/PeakRate.h"

#include "runtime/simd/Level.h"

#include <chrono>

namespace {
constexpr int chains = 12, rounds = 100000;

typedef float Float16x __attribute__((vector_size(64)));
typedef float Float8x __attribute__((vector_size(32)));

template <typename Vector>
__attribute__((always_inline)) inline float round(float seed) {
  Vector factor = Vector{} + seed, sums[chains] = {}, total = {};
  for (int i = 0; i < rounds; ++i)
#pragma unroll
    for (Vector &sum : sums)
      sum = __builtin_elementwise_fma(sum, factor, factor);
  for (Vector &sum : sums)
    total += sum;
  return total[0];
}
__attribute__((target("avx512f"), noinline)) float round512(float seed) {
  return round<Float16x>(seed);
}
__attribute__((target("avx2,fma"), noinline)) float round256(float seed) {
  return round<Float8x>(seed);
}
} // namespace

double peakRate(double duration) {
  bool is512 = shardc::runtime::simd::level() >= 4;
  if (shardc::runtime::simd::level() < 3)
    return 0;
  // Neither comes from, nor goes, where the compiler can see it.
  volatile float seed = 0.999f, result;
  auto start = std::chrono::steady_clock::now();
  double operations = 0, elapsed;
  do {
    result = is512 ? round512(seed) : round256(seed);
    operations += 2.0 * chains * rounds * (is512 ? 16 : 8);
    elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  } while (elapsed < duration);
  return operations / elapsed / 1e9;
}
