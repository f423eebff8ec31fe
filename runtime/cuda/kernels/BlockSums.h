// Sums and maxima over the threads of a block, and additions in memory that all
// of them do.
//
// The order of a sum is fixed by the number of threads. All threads of a block
// must call these functions, as often as each other.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_BLOCKSUMS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_BLOCKSUMS_H

#include "runtime/cuda/kernels/Blocks.h"

namespace shardc::runtime::cuda {

inline constexpr int mostWarps = 32;

#ifdef __CUDA__
inline constexpr int lanesOfWarp = 32;

SHARDC_DEVICE unsigned threadsOfBlock() {
  return __nvvm_read_ptx_sreg_ntid_x();
}
/// The value of the lane whose number differs in the bit `distance`.
SHARDC_DEVICE int exchanged(int value, int distance) {
  return __nvvm_shfl_sync_bfly_i32(-1, value, distance, 31);
}
/// In shared or global memory.
SHARDC_DEVICE void atomicAdd(long long *to, long long value) {
  __nvvm_atom_add_gen_ll(to, value);
}
SHARDC_DEVICE void atomicOr(long long *to, long long value) {
  __nvvm_atom_or_gen_ll(to, value);
}
SHARDC_DEVICE void atomicMax(unsigned long long *to, unsigned long long value) {
  __nvvm_atom_max_gen_ull(to, value);
}
SHARDC_DEVICE void atomicMin(unsigned long long *to, unsigned long long value) {
  __nvvm_atom_min_gen_ull(to, value);
}
#else
inline constexpr int lanesOfWarp = 1;

inline unsigned threadsOfBlock() { return 1; }
inline int exchanged(int value, int) { return value; }
inline void atomicAdd(long long *to, long long value) { *to += value; }
inline void atomicOr(long long *to, long long value) { *to |= value; }
inline void atomicMax(unsigned long long *to, unsigned long long value) {
  *to = *to < value ? value : *to;
}
inline void atomicMin(unsigned long long *to, unsigned long long value) {
  *to = *to > value ? value : *to;
}
#endif

SHARDC_DEVICE float exchanged(float value, int distance) {
  return __builtin_bit_cast(
      float, exchanged(__builtin_bit_cast(int, value), distance));
}
SHARDC_DEVICE double exchanged(double value, int distance) {
  struct Halves {
    int words[2];
  } halves = __builtin_bit_cast(Halves, value);
  halves.words[0] = exchanged(halves.words[0], distance);
  halves.words[1] = exchanged(halves.words[1], distance);
  return __builtin_bit_cast(double, halves);
}

/// combine(a, b) over the lanes of a warp, on all of them. It is symmetric.
template <typename T, typename Combine>
SHARDC_DEVICE T overWarp(T value, const Combine &combine) {
#pragma unroll
  for (int distance = lanesOfWarp / 2; distance > 0; distance /= 2)
    value = combine(value, exchanged(value, distance));
  return value;
}

/// combine(a, b) over the threads of a block, on all of them; combine(none, b)
/// is b. `parts`: in shared memory.
template <typename T, typename Combine>
SHARDC_DEVICE T overBlock(T value, T none, T (&parts)[mostWarps],
                          const Combine &combine) {
  unsigned thread = threadOfBlock(), lane = thread % lanesOfWarp;
  value = overWarp(value, combine);
  if (lane == 0)
    parts[thread / lanesOfWarp] = value;
  barrier();
  value = lane * lanesOfWarp < threadsOfBlock() ? parts[lane] : none;
  barrier(); // `parts` may be written again
  return overWarp(value, combine);
}

template <typename T> SHARDC_DEVICE T larger(T a, T b) { return a > b ? a : b; }

} // namespace shardc::runtime::cuda

#endif
