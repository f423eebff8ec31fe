// Copies of strided views, fills and casts. Every element is written by one
// thread and nothing is added up, so bits are those of the processor.
#include "runtime/cuda/kernels/Blocks.h"
#include "runtime/cuda/kernels/CopyParameters.h"

namespace shardc::runtime::cuda {

struct Offsets {
  Count from = 0, to = 0;
};
SHARDC_DEVICE Offsets offsetsOf(const CopyDim *dims, unsigned rank,
                                unsigned index) {
  Offsets at;
  for (int dim = int(rank) - 1; dim > 0; --dim) {
    unsigned outer = quotient(index, dims[dim].size);
    Count inner = index - outer * dims[dim].size.number;
    at.from += inner * dims[dim].from;
    at.to += inner * dims[dim].to;
    index = outer;
  }
  at.from += index * dims[0].from;
  at.to += index * dims[0].to;
  return at;
}

template <typename T> SHARDC_DEVICE void copyView(const CopyParameters &view) {
  auto *source = reinterpret_cast<const T *>(view.source);
  auto *destination = reinterpret_cast<T *>(view.destination);
  auto step = unsigned(threadsOfGrid());
  // Small units are loaded before any of them is stored, so that enough bytes
  // are on their way.
  constexpr unsigned ahead = sizeof(T) < 16 ? 4 : 1;
  for (auto i = unsigned(firstElement()); i < view.units; i += ahead * step) {
    T units[ahead];
    Count to[ahead];
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k) {
      if (i + k * step >= view.units)
        continue;
      Offsets at = offsetsOf(view.dims, view.rank, i + k * step);
      units[k] = source[at.from];
      to[k] = at.to;
    }
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k)
      if (i + k * step < view.units)
        destination[to[k]] = units[k];
  }
}

template <typename T>
SHARDC_DEVICE void fillView(const FillParameters &view, T unit) {
  auto *destination = reinterpret_cast<T *>(view.destination);
  auto step = unsigned(threadsOfGrid());
  for (auto i = unsigned(firstElement()); i < view.units; i += step)
    destination[offsetsOf(view.dims, view.rank, i).to] = unit;
}

template <typename T>
static SHARDC_DEVICE void transpose(const TransposeParameters &with) {
  constexpr unsigned side = tileSide(sizeof(T));
  // Rows of a tile begin in different banks.
  constexpr unsigned pad = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  SHARDC_SHARED T tile[side][side + pad];
  auto *source = reinterpret_cast<const T *>(with.source);
  auto *destination = reinterpret_cast<T *>(with.destination);
  for (unsigned i = blockOfGrid(); i < with.tiles; i += blocksOfGrid()) {
    unsigned rest = quotient(i, with.sourceTiles);
    unsigned first = (i - rest * with.sourceTiles.number) * side;
    unsigned batch = quotient(rest, with.destinationTiles);
    unsigned second = (rest - batch * with.destinationTiles.number) * side;
    Offsets at;
    if (with.rank)
      at = offsetsOf(with.dims, with.rank, batch);
    const T *from = source + at.from + first + second * with.from;
    T *to = destination + at.to + first * with.to + second;
    unsigned rows = with.destinationSize - second,
             columns = with.sourceSize - first;
#pragma unroll
    for (unsigned each = threadOfBlock(); each < side * side;
         each += blockThreads) {
      unsigned row = each / side, column = each % side;
      if (row < rows && column < columns)
        tile[row][column] = from[row * with.from + column];
    }
    barrier();
#pragma unroll
    for (unsigned each = threadOfBlock(); each < side * side;
         each += blockThreads) {
      unsigned column = each / side, row = each % side;
      if (row < rows && column < columns)
        to[column * with.to + row] = tile[row][column];
    }
    barrier();
  }
}

template <typename From, typename To>
SHARDC_DEVICE void castRange(const CastParameters &range) {
  auto *source = reinterpret_cast<const From *>(range.source);
  auto *destination = reinterpret_cast<To *>(range.destination);
  Count step = threadsOfGrid();
  for (Count i = firstElement(); i < range.elements; i += step)
    round(widen(source[i]), destination[i]);
}

#define SHARDC_VIEWS(bytes, T)                                                 \
  SHARDC_KERNEL void copy##bytes(CopyParameters view) { copyView<T>(view); }   \
  SHARDC_KERNEL void fill##bytes(FillParameters view) {                        \
    fillView<T>(view, static_cast<T>(view.bits[0]));                           \
  }                                                                            \
  SHARDC_KERNEL void transpose##bytes(TransposeParameters view) {              \
    transpose<T>(view);                                                        \
  }
SHARDC_VIEWS(1, unsigned char)
SHARDC_VIEWS(2, unsigned short)
SHARDC_VIEWS(4, unsigned int)
SHARDC_VIEWS(8, unsigned long long)

SHARDC_KERNEL void copy16(CopyParameters view) { copyView<Vector>(view); }
SHARDC_KERNEL void fill16(FillParameters view) {
  fillView(view, Vector{Word32(view.bits[0]), Word32(view.bits[0] >> 32),
                        Word32(view.bits[1]), Word32(view.bits[1] >> 32)});
}

#define SHARDC_CAST(from, From, to, To)                                        \
  SHARDC_KERNEL void cast_##from##_##to(CastParameters range) {                \
    castRange<From, To>(range);                                                \
  }
SHARDC_CAST(f64, double, f32, float)
SHARDC_CAST(f64, double, bf16, Bf16)
SHARDC_CAST(f64, double, f16, F16)
SHARDC_CAST(f32, float, f64, double)
SHARDC_CAST(f32, float, bf16, Bf16)
SHARDC_CAST(f32, float, f16, F16)
SHARDC_CAST(bf16, Bf16, f64, double)
SHARDC_CAST(bf16, Bf16, f32, float)
SHARDC_CAST(bf16, Bf16, f16, F16)
SHARDC_CAST(f16, F16, f64, double)
SHARDC_CAST(f16, F16, f32, float)
SHARDC_CAST(f16, F16, bf16, Bf16)

} // namespace shardc::runtime::cuda
