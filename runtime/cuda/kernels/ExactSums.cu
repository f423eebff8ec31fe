// Norms of gradients and exact sums: runtime/base/ExactSum.h on a device. Words
// are added by atomics, whose order does not matter.
#include "runtime/cuda/kernels/BlockSums.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/Memory.h"
#include "runtime/cuda/kernels/SumsParameters.h"

namespace shardc::runtime::cuda {

constexpr int digits = exactWords - 1, digitBits = 32;
constexpr Count digitMask = (Count(1) << digitBits) - 1;
/// Places in the last word of what is not finite.
constexpr int infinityBit = 0, negativeInfinityBit = 20, nanBit = 40;

/// Adds a value to the words of an exact sum, while other threads do.
SHARDC_DEVICE void addExactly(Count *words, double value) {
  Word64 bits = __builtin_bit_cast(Word64, value);
  int exponent = int(bits >> 52 & 0x7ff);
  Word64 mantissa = bits & 0xfffffffffffffULL;
  bool isNegative = bits >> 63;
  if (exponent == 0x7ff) {
    int place = mantissa     ? nanBit
                : isNegative ? negativeInfinityBit
                             : infinityBit;
    return atomicOr(words + digits, Count(1) << place);
  }
  // Subnormal numbers have the exponent of the smallest normal ones.
  if (exponent > 0)
    mantissa |= Word64(1) << 52;
  int place = exponent > 0 ? exponent - 1 : 0, shift = place % digitBits;
  Word64 low = mantissa << shift,
         high = shift == 0 ? 0 : mantissa >> (64 - shift);
  Count parts[3] = {Count(low & digitMask), Count(low >> digitBits),
                    Count(high)};
#pragma unroll
  for (int i = 0; i < 3; ++i)
    if (parts[i])
      atomicAdd(words + place / digitBits + i,
                isNegative ? -parts[i] : parts[i]);
}

/// Brings all digits but the last one into [0, 2^32).
SHARDC_DEVICE void normalize(Count *words) {
  for (int i = 0; i + 1 < digits; ++i) {
    words[i + 1] += words[i] >> digitBits; // rounds down: the rest is >= 0
    words[i] &= digitMask;
  }
}

SHARDC_DEVICE void loadWords(Count *words, Address from) {
  for (unsigned i = threadOfBlock(); i < exactWords; i += threadsOfBlock())
    words[i] = at<const Count>(from)[i];
  barrier();
}
/// What the first thread has written last.
SHARDC_DEVICE void storeWords(const Count *words, Address to) {
  barrier();
  for (unsigned i = threadOfBlock(); i < exactWords; i += threadsOfBlock())
    at<Count>(to)[i] = words[i];
}

/// Takes the sum of |x|^p, p = 1 or 2, or the largest |x|, as the bits that
/// compare as it does: what is not a number is larger than all others.
struct Power {
  Count p;

  SHARDC_DEVICE double operator()(double x) const {
    return p == 2 ? x * x : __builtin_fabs(x);
  }
  SHARDC_DEVICE double combine(double a, double b) const {
    if (p != 0)
      return a + b;
    return __builtin_bit_cast(Word64, a) > __builtin_bit_cast(Word64, b) ? a
                                                                         : b;
  }
};

/// Thread `thread` of `threads` takes its elements of a row: of each
/// threads * size the pack that is its own.
template <typename T>
SHARDC_INLINE double powersOf(const T *row, Count width, Power power,
                              Count thread, Count threads) {
  constexpr int size = 16 / sizeof(T), sums = size < 4 ? size : 4;
  double sum[sums] = {};
  Count step = threads * size, i = thread * size;
  auto take = [&](T value, int lane) {
    sum[lane % sums] = power.combine(sum[lane % sums], power(widen(value)));
  };
  if (isAligned<T, size>(reinterpret_cast<Address>(row))) {
#pragma unroll 2
    for (; i + size <= width; i += step) {
      auto pack = *reinterpret_cast<const Pack<T, size> *>(row + i);
#pragma unroll
      for (int lane = 0; lane < size; ++lane)
        take(pack.values[lane], lane);
    }
  } else {
    for (; i + size <= width; i += step)
#pragma unroll
      for (int lane = 0; lane < size; ++lane)
        take(row[i + lane], lane);
  }
#pragma unroll
  for (int lane = 0; lane < size; ++lane)
    if (i + lane < width)
      take(row[i + lane], lane);
  double all = sum[0];
#pragma unroll
  for (int lane = 1; lane < sums; ++lane)
    all = power.combine(all, sum[lane]);
  return all;
}

/// Rows of more elements than this are a block's work, others a warp's.
constexpr Count mostWarpElements = 4096;

/// Calls add(sum of powers) on one thread for each row of a part.
template <typename T, typename Add>
SHARDC_INLINE void forRowPowers(const NormPart &part, Power power,
                                const Add &add) {
  SHARDC_SHARED double sums[mostWarps];
  auto *elements = at<const T>(part.begin);
  auto combine = [&](double a, double b) { return power.combine(a, b); };
  Count thread = threadOfBlock(), threads = threadsOfBlock();
  if (part.width == 1) {
    for (Count i = thread; i < part.count; i += threads)
      add(power(widen(elements[i])));
    return;
  }
  if (part.width > mostWarpElements) {
    for (Count row = 0; row < part.count; ++row) {
      double sum = overBlock(powersOf(elements + row * part.width, part.width,
                                      power, thread, threads),
                             0.0, sums, combine);
      if (thread == 0)
        add(sum);
    }
    return;
  }
  Count warps = threads / lanesOfWarp, lane = thread % lanesOfWarp;
  for (Count first = 0; first < part.count; first += warps) {
    Count row = first + thread / lanesOfWarp;
    double sum = 0;
    if (row < part.count)
      sum = powersOf(elements + row * part.width, part.width, power, lane,
                     lanesOfWarp);
    sum = overWarp(sum, combine);
    if (lane == 0 && row < part.count)
      add(sum);
  }
}

template <typename T> SHARDC_INLINE void normRows(const NormParameters &with) {
  SHARDC_SHARED Count words[exactWords];
  SHARDC_SHARED double sums[mostWarps];
  Count thread = threadOfBlock(), threads = threadsOfBlock();
  Power power{at<const RunNumbers>(with.numbers)->norm};
  auto *parts = at<const NormPart>(with.parts);
  double largest = 0;
  for (Count i = thread; i < exactWords; i += threads)
    words[i] = 0;
  barrier();
  for (Count part = blockOfGrid(); part < with.partCount;
       part += blocksOfGrid())
    forRowPowers<T>(parts[part], power, [&](double sum) {
      if (power.p == 0)
        largest = power.combine(largest, sum);
      else
        addExactly(words, sum);
    });
  if (power.p == 0) {
    largest = overBlock(largest, 0.0, sums, [&](double a, double b) {
      return power.combine(a, b);
    });
    if (thread == 0)
      atomicMax(at<Word64>(with.sum), __builtin_bit_cast(Word64, largest));
    return;
  }
  barrier();
  auto *sum = at<Count>(with.sum);
  for (Count i = thread; i < digits; i += threads)
    if (words[i])
      atomicAdd(sum + i, words[i]);
  if (thread == 0 && words[digits])
    atomicOr(sum + digits, words[digits]);
}

/// The nearest float64, ties to even, of words as normalize() leaves them, but
/// for a sign. They are changed.
SHARDC_DEVICE double rounded(Count *words) {
  Count special = words[digits];
  bool hasInfinity = special & 0xfffff,
       hasNegative = special >> negativeInfinityBit & 0xfffff;
  if (special >> nanBit || (hasInfinity && hasNegative))
    return __builtin_nan("");
  if (hasInfinity || hasNegative)
    return hasInfinity ? infinity<double> : -infinity<double>;
  bool isNegative = words[digits - 1] < 0;
  if (isNegative) {
    for (int i = 0; i < digits; ++i)
      words[i] = -words[i];
    normalize(words);
  }
  int top = digits - 1;
  while (top > 0 && words[top] == 0)
    --top;
  // The highest 64 bits, of which the last says whether anything follows.
  auto digit = [&](int i) { return Word64(i >= 0 ? words[i] : 0); };
  Word64 head = digit(top) << 32 | digit(top - 1), next = digit(top - 2);
  int exponent = (top - 1) * digitBits - 1074;
  if (head == 0)
    return 0;
  int shift = __builtin_clzll(head); // below 64, and of a top digit below 32
  if (shift > 0) {
    head = head << shift | next << 32 >> (64 - shift);
    next = next << shift & digitMask;
  }
  for (int i = 0; i < top - 2; ++i)
    next |= Word64(words[i]);
  if (next)
    head |= 1;
  exponent -= shift;
  // To 53 bits: half of a last place and more goes up, half itself to even.
  Word64 kept = head >> 11, rest = head & 0x7ff;
  if (rest > 0x400 || (rest == 0x400 && (kept & 1)))
    ++kept;
  exponent += 11;
  // What is subnormal ends in zeros, since no digit is below 2^-1074.
  double value = double(kept);
  for (; exponent > 900; exponent -= 900)
    value *= 0x1p900;
  for (; exponent < -900; exponent += 900)
    value *= 0x1p-900;
  value *= powerOfTwo(exponent);
  return isNegative ? -value : value;
}

SHARDC_KERNEL void exact_finish(ExactFinishParameters with) {
  SHARDC_SHARED Count words[exactWords];
  if (at<const RunNumbers>(with.numbers)->norm == 0)
    return;
  loadWords(words, with.sum);
  if (threadOfBlock() == 0)
    normalize(words);
  storeWords(words, with.sum);
}

SHARDC_KERNEL void exact_sum(ExactSumParameters with) {
  SHARDC_SHARED Count words[exactWords];
  for (unsigned i = threadOfBlock(); i < exactWords; i += threadsOfBlock())
    words[i] = 0;
  barrier();
  if (threadOfBlock() == 0) {
    addExactly(words, *at<const double>(with.value));
    normalize(words);
  }
  storeWords(words, with.sum);
}

SHARDC_KERNEL void round_sum(RoundSumParameters with) {
  SHARDC_SHARED Count words[exactWords];
  loadWords(words, with.sum);
  if (threadOfBlock() != 0)
    return;
  if (with.norm && at<const RunNumbers>(with.numbers)->norm == 0) {
    *at<double>(with.value) = __builtin_bit_cast(double, words[0]);
    return;
  }
  normalize(words);
  *at<double>(with.value) = rounded(words);
}

#define SHARDC_NORM(name, T)                                                   \
  SHARDC_KERNEL void norm_##name(NormParameters with) { normRows<T>(with); }
SHARDC_NORM(f64, double)
SHARDC_NORM(f32, float)
SHARDC_NORM(bf16, Bf16)
SHARDC_NORM(f16, F16)

} // namespace shardc::runtime::cuda
