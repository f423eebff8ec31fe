// The sizes by which TiledGemm.h blocks a product. Their names are those of
// BLIS (Van Zee and van de Geijn, "BLIS: A Framework for Rapidly Instantiating
// BLAS Functionality", ACM TOMS 41(3), 2015): the register tile is MR x NR, the
// block of b that is packed KC x NC, the rows that are multiplied by it MC.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_GEMMBLOCKING_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_GEMMBLOCKING_H

#include "runtime/cpu/products/MicroKernels.h"
#include "runtime/cpu/products/TiledGemm.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shardc::runtime::cpu {

/// BLIS keeps a's block in the second-level cache and b's in the third; here it
/// is the other way around, and a is read where it lies if the kernels can.
/// How the sizes were measured: 0013-libxsmm.md.
namespace blocking {

/// The sizes that depend on the registers' width.
struct Sizes {
  /// NR is the number of columns of the register tile, four registers. b is
  /// packed in panels of so many columns.
  int64_t NR;
  /// KC, in bytes, is the depth of a block: the part of k for which one block
  /// of a is multiplied by one of b.
  int64_t KCBytes;
  /// KC x NC, in bytes, is the packed block of b. It takes half of the
  /// second-level cache and stays there while MC rows of a are multiplied by
  /// it. NC is larger where the depth is smaller than KC, up to mostPanels.
  int64_t packedBBytes;
  /// A kernel multiplies so many rows at once by a panel, or so many where the
  /// depth is shallow.
  int64_t rowsOfKernel, rowsOfShallowKernel;
  /// A b that is stored row by row is packed by so many columns at a time.
  int64_t runOfB;
  /// From so many rows on, packing costs less than a b whose rows crowd into the
  /// same sets of a cache; more than fewRows: never.
  int64_t crowdedRows;
};
/// Measured on a Zen 5 (48 KB of first-level, 1 MB of second-level cache): KC
/// is 512 elements of float32, 1024 of bfloat16, and a kernel runs for one
/// register tile, between which the next is prefetched.
constexpr Sizes sizesOfAvx512{64, 2048, 512 << 10, 6, 48, 64, 65};
/// Measured on a Sapphire Rapids (48 KB, 2 MB), which gains nothing by
/// prefetching register tiles, and runs a kernel for many of them.
constexpr Sizes sizesOfIntel512{64, 2048, 512 << 10, 96, 192, 64, 12};
/// Measured on a Zen 3 (32 KB, 512 KB): KC is 768 elements. A panel passes
/// through the first-level cache for every 48 rows; with rows of 64 columns,
/// of which a register tile reads half, it would not be prefetched by itself.
constexpr Sizes sizesOfAvx2{32, 3072, 256 << 10, 48, 192, 128, 12};
inline const Sizes &sizes() {
  if (microKernelLanes() < 16)
    return sizesOfAvx2;
  return isOfIntel() ? sizesOfIntel512 : sizesOfAvx512;
}
constexpr int64_t mostNR = std::max(sizesOfAvx512.NR, sizesOfAvx2.NR);

/// MR is the number of rows of the register tile; AVX2's has half of them.
constexpr int64_t MR = 6;
/// Panels of a b that is read where it lies are narrower where AVX-512's
/// register tile, which then has eight rows, passes over it less often.
inline int64_t NRInPlace(int64_t rows) {
  bool passesLess = (rows + 7) / 8 < (rows + MR - 1) / MR;
  return microKernelLanes() == 16 && passesLess ? 48 : sizes().NR;
}
/// Rows of a packed a lie KC and this many bytes apart, so that they do not
/// fall into the same sets of a cache.
constexpr int64_t KCPaddingBytes = 64;
/// NC / NR is at most this, where the depth is small.
constexpr int64_t mostPanels = 32;
/// MC is the number of rows of a that are multiplied by all blocks of b before
/// the next rows are: they stay in the third-level cache. There are fewer of
/// them where a is packed: as many as its memory holds.
constexpr int64_t MCInPlace = 3072;
constexpr int64_t packedABytes =
    1536 * (sizesOfAvx512.KCBytes + KCPaddingBytes);
inline int64_t MCPacked() {
  return packedABytes / (sizes().KCBytes + KCPaddingBytes) / MR * MR;
}
/// a is packed by so many rows at a time: what is written stays in the
/// second-level cache.
constexpr int64_t rowsPackedAtOnce = 256;
/// A tile of c has at most so many rows where threads share a product.
constexpr int64_t tileRows = 516;
/// Where c is rounded, its sums are formed in a scratch of this size.
constexpr int64_t scratchRows = 768, scratchColumns = 256;
/// Up to this many rows, packing b costs more than reading it where it lies.
constexpr int64_t fewRows = 64;
/// From this many columns on a transposed a is packed, even where it could be
/// read where it lies.
constexpr int64_t manyColumns = 192;
/// Up to this depth a product writes more than it multiplies: c is written row
/// by row, many of them per kernel.
constexpr int64_t shallowDepth = 64;

constexpr int64_t packedBBytes =
    std::max(sizesOfAvx512.packedBBytes, sizesOfAvx2.packedBBytes);
constexpr int64_t scratchBytes =
    scratchRows * scratchColumns * int64_t(sizeof(float));
static_assert(packedABytes + packedBBytes + scratchBytes <= tiledGemmBytes);
static_assert(sizesOfAvx512.packedBBytes >=
              sizesOfAvx512.NR * sizesOfAvx512.KCBytes);
static_assert(sizesOfAvx2.packedBBytes >= sizesOfAvx2.NR * sizesOfAvx2.KCBytes);
// The last panel may have 16 columns more.
static_assert(packedBBytes >=
              sizesOfAvx2.packedBBytes + 16 * sizesOfAvx2.KCBytes);
static_assert(MCInPlace % MR == 0 && scratchRows % MR == 0);
static_assert(packedABytes >=
              scratchRows * (sizesOfAvx2.KCBytes + KCPaddingBytes));

inline int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace blocking

/// The calling thread's memory for packed operands.
struct GemmBuffers {
  std::byte *packedA, *packedB; // packedABytes, packedBBytes
  float *scratch;               // scratchBytes

  /// Allocates tiledGemmBytes at a thread's first call.
  static GemmBuffers ofThread();
};

} // namespace shardc::runtime::cpu

#endif
