// Matrix units and what feeds them, on devices of compute capability 8.0 and
// later: tiles of 16-bit numbers in shared memory, products of 16 x 8 x 16 with
// float32 sums, copies that go on beside them (PTX ISA 9.0, 9.7.14.5 and
// 9.7.9.25).
//
// Thread t of a warp has, of a 16 x 8 tile of sums, the columns 2 (t % 4) and
// 2 (t % 4) + 1: [0] and [1] in row t / 4, [2] and [3] in row t / 4 + 8.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MATRIXUNITS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MATRIXUNITS_H

#include "runtime/cuda/kernels/AttentionScores.h"

namespace shardc::runtime::cuda {

/// Of bytes in shared memory.
using SharedAddress = unsigned long long;

extern __attribute__((shared, aligned(16))) unsigned char dynamicShared[];
SHARDC_INLINE SharedAddress sharedBegin() {
  return SharedAddress(
      (__attribute__((address_space(3))) unsigned char *)dynamicShared);
}

SHARDC_INLINE int laneOfWarp() { return threadOfBlock() % 32; }
SHARDC_INLINE int warpOfBlock() { return threadOfBlock() / 32; }

/// Copies 16 bytes from global memory, or writes zeros where there is nothing to
/// copy; both addresses are multiples of 16.
SHARDC_INLINE void copyLater16(SharedAddress to, const void *from,
                               bool isThere) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"l"(to),
               "l"(from), "r"(isThere ? 16 : 0)
               : "memory");
}
/// The same for 4 bytes.
SHARDC_INLINE void copyLater4(SharedAddress to, const void *from,
                              bool isThere) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"l"(to),
               "l"(from), "r"(isThere ? 4 : 0)
               : "memory");
}
/// Waits for all that the thread copies.
SHARDC_INLINE void awaitCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Four 8 x 8 matrices: lanes 8 i to 8 i + 7 say where the rows of matrix i
/// begin, but for `offset` bytes.
template <int offset>
SHARDC_INLINE void loadMatrices(Word32 (&to)[4], SharedAddress from) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4+%5];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "l"(from), "n"(offset)
      : "memory");
}
template <int offset>
SHARDC_INLINE void loadTransposed(Word32 (&to)[4], SharedAddress from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
               "{%0, %1, %2, %3}, [%4+%5];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(from), "n"(offset)
               : "memory");
}

/// Calls body(number) for 0 to count - 1, where the number is known to the
/// compiler: decltype(number)::value.
template <int n> struct Number {
  static constexpr int value = n;
};
template <int count, int at = 0, typename Body>
SHARDC_INLINE void forNumbers(const Body &body) {
  if constexpr (at < count) {
    body(Number<at>());
    forNumbers<count, at + 1>(body);
  }
}
#define SHARDC_NUMBER(number) (decltype(number)::value)
#define SHARDC_BODY __attribute__((always_inline))

/// sums += a b, of a 16 x 16 and a 16 x 8 tile.
template <typename S>
SHARDC_INLINE void multiplyAdd(float (&sums)[4], const Word32 (&a)[4],
                               Word32 b0, Word32 b1);
template <>
SHARDC_INLINE void multiplyAdd<Bf16>(float (&sums)[4], const Word32 (&a)[4],
                                     Word32 b0, Word32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
SHARDC_INLINE void multiplyAdd<F16>(float (&sums)[4], const Word32 (&a)[4],
                                    Word32 b0, Word32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two numbers of 16 bits, to nearest even.
template <typename S> SHARDC_INLINE Word32 packed(float low, float high);
template <> SHARDC_INLINE Word32 packed<Bf16>(float low, float high) {
  return __builtin_bit_cast(Word32, __nvvm_ff2bf16x2_rn(high, low));
}
template <> SHARDC_INLINE Word32 packed<F16>(float low, float high) {
  return __builtin_bit_cast(Word32, __nvvm_ff2f16x2_rn(high, low));
}

/// 2^x to 2 ulp (PTX ISA, ex2.approx); 0 of -inf.
SHARDC_INLINE float binaryPower(float x) { return __nvvm_ex2_approx_f(x); }
inline constexpr float log2E = 0x1.715476p0f;

/// Where a lane's row of the four matrices of a fragment begins, from the tile's
/// begin: of the left side of a product, and of a right side that is transposed;
template <int dims> SHARDC_INLINE SharedAddress leftOfLane() {
  int lane = laneOfWarp();
  return SharedAddress(lane % 16 * matrixRowBytes(dims) + lane / 16 * 16);
}
/// of a right side that is not.
template <int dims> SHARDC_INLINE SharedAddress rightOfLane() {
  int lane = laneOfWarp();
  return SharedAddress((lane % 8 + lane / 16 * 8) * matrixRowBytes(dims) +
                       lane / 8 % 2 * 16);
}

/// Has a block copy rows [first, first + rows) of `columns` numbers to a tile of
/// rows of `dims`; zeros where there is nothing. As many neighbouring threads as
/// divide a row copy it in turns.
template <int dims, int rows, int threads, typename S>
SHARDC_INLINE void fetchRows(SharedAddress to, const HeadRows<S> &from,
                             int first) {
  constexpr int pieces = dims / 8, threadsOfRow = pieces & -pieces;
  constexpr int rowsAtOnce = threads / threadsOfRow;
  static_assert(rows % rowsAtOnce == 0);
  int row = threadOfBlock() / threadsOfRow,
      piece = threadOfBlock() % threadsOfRow;
  to += SharedAddress(row * matrixRowBytes(dims) + piece * 16);
  row += first;
  const S *source = from.data + row * from.stride + piece * 8;
#pragma unroll
  for (int i = 0; i < rows / rowsAtOnce; ++i) {
#pragma unroll
    for (int j = 0; j < pieces; j += threadsOfRow) {
      bool isThere = row < from.rows && (piece + j) * 8 < from.columns;
      copyLater16(
          to + SharedAddress(i * rowsAtOnce * matrixRowBytes(dims) + j * 16),
          isThere ? source + j * 8 : from.data, isThere);
    }
    row += rowsAtOnce;
    source += rowsAtOnce * from.stride;
  }
}

/// sums += left * right^T, over `dims`; `left`: of the warp's rows, with
/// leftOfLane() added, `right` with rightOfLane().
template <typename S, int dims, int rowTiles, int columns>
SHARDC_INLINE void multiplyRows(float (&sums)[rowTiles][columns][4],
                                SharedAddress left, SharedAddress right) {
  forNumbers<dims / 16>([&](auto d) SHARDC_BODY {
    constexpr int depth = SHARDC_NUMBER(d) * 32;
    Word32 a[rowTiles][4];
    forNumbers<rowTiles>([&](auto m) SHARDC_BODY {
      constexpr int tile = SHARDC_NUMBER(m);
      loadMatrices<tile * 16 * matrixRowBytes(dims) + depth>(a[tile], left);
    });
    forNumbers<columns / 2>([&](auto n) SHARDC_BODY {
      constexpr int pair = SHARDC_NUMBER(n);
      Word32 b[4];
      loadMatrices<pair * 16 * matrixRowBytes(dims) + depth>(b, right);
#pragma unroll
      for (int m = 0; m < rowTiles; ++m) {
        multiplyAdd<S>(sums[m][2 * pair], a[m], b[0], b[1]);
        multiplyAdd<S>(sums[m][2 * pair + 1], a[m], b[2], b[3]);
      }
    });
  });
}

/// Two tiles of sums, side by side, as a left side.
template <typename S, int rowTiles, int columns, int steps>
SHARDC_INLINE void toWeights(const float (&sums)[rowTiles][columns][4],
                             Word32 (&weights)[rowTiles][steps][4]) {
  static_assert(columns == 2 * steps);
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int k = 0; k < steps; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        weights[m][k][i] = packed<S>(sums[m][2 * k + i / 2][i % 2 * 2],
                                     sums[m][2 * k + i / 2][i % 2 * 2 + 1]);
}

/// sums += weights * right; `right`: with leftOfLane() added.
template <typename S, int dims, int rowTiles, int columns, int steps>
SHARDC_INLINE void addProduct(float (&sums)[rowTiles][columns][4],
                              const Word32 (&weights)[rowTiles][steps][4],
                              SharedAddress right) {
  forNumbers<steps>([&](auto k) SHARDC_BODY {
    constexpr int depth = SHARDC_NUMBER(k);
    forNumbers<columns / 2>([&](auto n) SHARDC_BODY {
      constexpr int pair = SHARDC_NUMBER(n);
      Word32 b[4];
      loadTransposed<depth * 16 * matrixRowBytes(dims) + pair * 32>(b, right);
#pragma unroll
      for (int m = 0; m < rowTiles; ++m) {
        multiplyAdd<S>(sums[m][2 * pair], weights[m][depth], b[0], b[1]);
        multiplyAdd<S>(sums[m][2 * pair + 1], weights[m][depth], b[2], b[3]);
      }
    });
  });
}

template <int rowTiles, int columns>
SHARDC_INLINE void clear(float (&sums)[rowTiles][columns][4]) {
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[m][n][i] = 0;
}

/// Writes sums, times a factor for each of the thread's rows (two of a tile),
/// where rows from `row` on and columns from `column` on are.
template <typename S, int rowTiles, int columns>
SHARDC_INLINE void storeSums(const HeadRows<S> &to, int row, int column,
                             const float (&sums)[rowTiles][columns][4],
                             const float (&factors)[rowTiles][2]) {
#pragma unroll
  for (int m = 0; m < rowTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int at = row + 16 * m + laneOfWarp() / 4 + 8 * half;
      if (at >= to.rows)
        continue;
      S *rowOf = to.data + Count(at) * to.stride;
#pragma unroll
      for (int n = 0; n < columns; ++n) {
        int first = column + 8 * n + laneOfWarp() % 4 * 2;
        if (first < to.columns)
          *reinterpret_cast<Word32 *>(rowOf + first) =
              packed<S>(sums[m][n][2 * half] * factors[m][half],
                        sums[m][n][2 * half + 1] * factors[m][half]);
      }
    }
}

} // namespace shardc::runtime::cuda

#endif
