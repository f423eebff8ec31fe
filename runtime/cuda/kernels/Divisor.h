// Division of indices by numbers that are known when binding, as a product and
// a shift (Granlund and Montgomery, Division by invariant integers using
// multiplication, PLDI 1994, figure 4.1). Host and device read this header.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_DIVISOR_H
#define SHARDC_RUNTIME_CUDA_KERNELS_DIVISOR_H

namespace shardc::runtime::cuda {

/// Indices that are divided, and divisors, are below this.
inline constexpr long long indexLimit = 1LL << 31;

struct Divisor {
  unsigned number, multiplier, shift;
};

/// `number`: 1 to indexLimit - 1.
constexpr Divisor divisorOf(long long number) {
  unsigned shift = 0;
  while ((1LL << shift) < number)
    ++shift;
  auto excess = static_cast<unsigned long long>((1LL << shift) - number);
  return {
      unsigned(number),
      unsigned((excess << 32) / static_cast<unsigned long long>(number) + 1),
      shift};
}

} // namespace shardc::runtime::cuda

#endif
