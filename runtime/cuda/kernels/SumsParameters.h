// What the kernels of Sums.cu and ExactSums.cu take. "Computed type": float64 of
// f64, float32 of f32, bf16 and f16; of integers their own.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_SUMSPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_SUMSPARAMETERS_H

#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

// The kernels of Sums.cu run in grids of one dimension of any size, without
// shared memory: threads take elements in turns.

/// add_TO_FROM: to += from, where both are one of f64, f32, bf16 and f16, or
/// both i64: added in float64 where one of them is, else in float32, and rounded
/// once.
struct AddParameters {
  Address to, from;
  Count elements;
};

/// ordered_sum_T and ordered_max_T, T one of f64, f32, bf16, f16, i64 and i32:
/// combines what ranks brought, [ranks][stride] elements of T of which `count`
/// count, in the order of the ranks. Bits are those of
/// runtime/comm/RankOrderSum.h: sums are added in the computed type and rounded
/// once, integers wrap around, and the maximum of values of which one is not a
/// number is not a number.
///
/// `running` has the computed type, and is what a RunningSum of
/// runtime/comm/Communicator.h holds: the first term unless `begins`, and what
/// is written instead of the result unless `ends`. It may be 0 where both are
/// set, as they are for a maximum. The result may be one of the slices.
struct OrderedSumParameters {
  Address slices, result, running;
  Count count, stride, ranks;
  Count begins, ends;
};

// ExactSums.cu

/// What ExactSum::words is.
inline constexpr int exactWords = 68;
/// The threads of a block of every kernel of ExactSums.cu.
inline constexpr int exactThreads = 256;

/// `count` rows of `width` elements in a row. Several rows have at most
/// mostNormElements together; one has at most so many, too: longer rows are cut.
struct NormPart {
  Address begin;
  Count count, width;
};
inline constexpr Count mostNormElements = 64 << 10;

/// norm_T, T one of f64, f32, bf16 and f16: adds the sum of |g|^p over each row
/// to an exact sum, or, p being infinite, takes the largest. A row's sum is
/// float64, in an order that its width alone decides. Grids of one dimension of
/// any size.
struct NormParameters {
  Address parts; // of NormPart[partCount]
  Count partCount;
  Address numbers; // of RunNumbers
  /// int64[exactWords], to be zeroed before; or the bits of the largest in the
  /// first word. Another kernel, exact_finish, has to follow.
  Address sum;
};

/// exact_finish: brings a norm's sum to the form that ExactSum::store writes.
/// One block.
struct ExactFinishParameters {
  Address sum;
  Address numbers; // of RunNumbers
};

/// exact_sum: a float64 as an exact sum; round_sum: the float64 next to a sum,
/// or, `norm` not being 0, to what the run's norm makes of it. One block.
struct ExactSumParameters {
  Address value, sum;
};
struct RoundSumParameters {
  Address sum, value;
  Count norm;
  Address numbers; // of RunNumbers
};

} // namespace shardc::runtime::cuda

#endif
