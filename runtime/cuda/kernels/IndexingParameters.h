// What the kernels of Indexing.cu take: reads, sums and running sums at positions
// known at run time. Host and device read this header.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_INDEXINGPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_INDEXINGPARAMETERS_H

#include "runtime/cuda/kernels/Divisor.h"
#include "runtime/cuda/kernels/Parameters.h"

namespace shardc::runtime::cuda {

// All kernels run in blocks of copyThreads, as many as there are.

/// Integers in row-major order.
struct Indices {
  Address data;
  /// Of a word that becomes the least faultOf(position, index) of those that are
  /// outside their axis, which name no row.
  Address fault;
  unsigned isWide; // int64, else int32
  unsigned rank;   // 0: contiguous, else dims with the outermost first
  struct Dim {
    Divisor size;
    Count stride;
  } dims[mostDims];
};

/// gather1, gather2, gather4, gather8 and gather16, by bytes of a unit, which
/// addresses are multiples of and strides count. Row i of the result, of
/// `width` units, is a row of the data: that of outer dims i / count, and there
/// of indices[i % count].
struct GatherParameters {
  Address data, result;
  Indices indices;
  unsigned firstRow, units; // of the result, in this launch
  Divisor width, count;
  Count outerStride, rowStride; // of the data
  Count resultStride;
  Count size;  // rows of an axis
  Count wraps; // negative indices count from the end
};

/// gather_nd1 to gather_nd16: as above, by tuples of `depth` indices: row i of
/// the result is data's row (i / tuples, indices[i, 0], indices[i, 1], ...).
/// All are contiguous.
struct GatherNdParameters {
  Address data, result;
  Indices indices;
  unsigned firstRow, units;
  Divisor width, tuples;
  Count depth;
  Count sizes[mostDims]; // of the dims that are indexed
};

/// The positions whose rows one block adds at most: those that are the first of
/// their id.
inline constexpr int mostPositions = 64;
/// Columns that a block adds, by the bytes of a sum.
constexpr int rowColumns(int bytes) { return 2048 / bytes; }
/// Positions are below this.
inline constexpr Count positionLimit = Count(1) << 28;

/// What the rows of a table have to do with the sums that become them.
enum class RowStart : unsigned {
  Zero,     // nothing: the first summand is 0
  Row,      // they are the first summand
  SumToRow, // the sum of all others, from 0 on, is added to them
};

/// add_rows_GRADIENT_TABLE, where both are f64, f32, bf16 or f16, or the table
/// f32 of 16 bits: for each position i in their order, table[indices[i]] +=
/// gradient[i], rows of `width` elements, once for each of `outers`. Sums are
/// in float32, or float64, and rounded once. Rows that no index names are not
/// touched; what becomes of others `start` says.
struct AddRowsParameters {
  Address gradient, table;
  Indices indices;
  unsigned positions; // below positionLimit
  unsigned perBlock;  // positions, up to mostPositions
  unsigned groups;    // of perBlock
  unsigned chunks;    // of rowColumns
  unsigned outers;
  unsigned width;
  unsigned size; // rows of the table
  RowStart start;
  unsigned wraps;                    // negative indices count from the end
  Count gradientStride, tableStride; // between rows
  Count gradientOuter, tableOuter;   // between outers
};

/// Lines that a block of cumsum_rows has at most, and elements of all of them
/// that it looks at at a time; both powers of two.
inline constexpr int mostLines = 32, cumsumTile = 2048;

/// cumsum_TYPE of f64, f32, bf16, f16, i64 and i32: contiguous [outer, size,
/// inner], summed along the middle one after another; 16 bits in float32, each
/// sum rounded; integers wrap around.
/// cumsum_rows_TYPE: the same where inner is 1, and lines lie one after the
/// other: `linesPerBlock` of them, a power of two up to mostLines, at a time.
struct CumsumParameters {
  Address input, result;
  Count lines; // outer * inner
  Count size, inner;
  unsigned exclusive, reverse, linesPerBlock;
};

} // namespace shardc::runtime::cuda

#endif
