// The casts of Copy.cu, compiled for the host, against the processor's bits.
// test/emulated-cuda has its copies and fills.
#include "runtime/base/DType.h"
#include "runtime/cuda/kernels/Copy.cu"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// Calls a kernel once for each of a grid's threads, which need no barriers.
template <typename Parameters>
void launch(void (*kernel)(Parameters), const Parameters &with) {
  constexpr cuda::Count threads = 96;
  for (cuda::Count thread = 0; thread < threads; ++thread) {
    cuda::hostThread = {thread, threads};
    kernel(with);
  }
}
cuda::Address address(const void *memory) {
  return reinterpret_cast<cuda::Address>(memory);
}

/// Returns numbers of every exponent, ties of 16-bit types, and what is no number.
std::vector<double> numbers() {
  std::mt19937_64 random(1);
  std::vector<double> values{0.0,      -0.0,  INFINITY, -INFINITY, NAN,
                             65519.99, 65520, 0x1p-25,  0x1p-24};
  for (int i = 0; i < 20000; ++i)
    values.push_back(
        std::ldexp(double(int64_t(random())), int(random() % 340) - 230));
  for (uint64_t i = 0; i < 65536;
       ++i) // both neighbours of ties in bf16 and float16
    for (uint64_t below :
         {uint64_t(0), (uint64_t(1) << 44) - 1, uint64_t(1) << 44,
          (uint64_t(1) << 44) + 1, uint64_t(1) << 41, (uint64_t(1) << 41) + 1})
      values.push_back(std::bit_cast<double>((i << 48) ^ (i << 45) ^ below));
  return values;
}

void castMatches(void (*kernel)(cuda::CastParameters), plan::DType from,
                 plan::DType to) {
  std::vector<double> values = numbers();
  size_t count = values.size();
  std::vector<std::byte> source(8 * count), expected(8 * count), got(8 * count);
  convertElements(values.data(), plan::FLOAT64, source.data(), from, count);
  convertElements(source.data(), from, expected.data(), to, count);
  launch(kernel,
         {address(source.data()), address(got.data()), cuda::Count(count)});
  size_t size = elementSize(to);
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(std::memcmp(&got[i * size], &expected[i * size], size), 0)
        << values[i] << " from " << dtypeName(from) << " to " << dtypeName(to);
}

TEST(CopyKernels, CastsHaveTheProcessorsBits) {
  castMatches(cuda::cast_f64_f32, plan::FLOAT64, plan::FLOAT32);
  castMatches(cuda::cast_f64_bf16, plan::FLOAT64, plan::BFLOAT16);
  castMatches(cuda::cast_f64_f16, plan::FLOAT64, plan::FLOAT16);
  castMatches(cuda::cast_f32_f64, plan::FLOAT32, plan::FLOAT64);
  castMatches(cuda::cast_f32_bf16, plan::FLOAT32, plan::BFLOAT16);
  castMatches(cuda::cast_f32_f16, plan::FLOAT32, plan::FLOAT16);
  castMatches(cuda::cast_bf16_f64, plan::BFLOAT16, plan::FLOAT64);
  castMatches(cuda::cast_bf16_f32, plan::BFLOAT16, plan::FLOAT32);
  castMatches(cuda::cast_bf16_f16, plan::BFLOAT16, plan::FLOAT16);
  castMatches(cuda::cast_f16_f64, plan::FLOAT16, plan::FLOAT64);
  castMatches(cuda::cast_f16_f32, plan::FLOAT16, plan::FLOAT32);
  castMatches(cuda::cast_f16_bf16, plan::FLOAT16, plan::BFLOAT16);
}

} // namespace
