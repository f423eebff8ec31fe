// The loops take as many columns of c at a time as the scratch holds, and go
// along k as far as a packed a fits.
#include "runtime/cpu/products/TransposedGemmTile.h"

#include "runtime/cpu/HalfRows.h"
#include "runtime/simd/Pack.h"

#include <algorithm>

namespace shardc::runtime::cpu {

using namespace blocking;

/// A kernel computes so many columns of c, which are rows of b as it is stored.
static constexpr int64_t rowsAtOnce = 48;

/// Calls function(first, length) for one range of columns after the other.
template <typename Function>
static void forColumns(int64_t count, Function &&function) {
  constexpr int64_t step = 512;
  for (int64_t first = 0; first < count; first += step)
    function(first, std::min(step, count - first));
}

void TransposedGemmTile::run(int64_t column, int64_t columns) {
  int64_t most = scratchBytes / (width() * int64_t(sizeof(float)));
  for (int64_t last = column + columns, count; column < last; column += count) {
    count = std::min(most, last - column);
    begin(column, count);
    multiply(column, count);
    end(column, count);
  }
}

void TransposedGemmTile::begin(int64_t column, int64_t count) {
  if (!execute)
    return;
  int64_t stride = width();
  if (p.accumulate)
    forColumns(count, [&](int64_t first, int64_t length) {
      withFloat32OrHalf(p.c.dtype, [&]<typename S>(S) {
        simd::packLoops<S>().transpose(
            buffers.scratch + first * stride, stride,
            reinterpret_cast<const S *>(p.c.at(0, column + first)), p.c.stride,
            p.m, length);
      });
    });
  if (p.bias)
    withFloat32OrHalf(p.biasDtype, [&]<typename S>(S) {
      for (int64_t i = 0; i < count; ++i) {
        S value = reinterpret_cast<const S *>(p.bias)[column + i];
        std::fill_n(buffers.scratch + i * stride, width(),
                    float(widened(value)));
      }
    });
}

void TransposedGemmTile::multiply(int64_t column, int64_t count) {
  int64_t bytes = packing.elementBytes(), stride = width();
  int64_t depth = packing.depth();
  int64_t deepest = packedBBytes / (stride * bytes) / depth * depth;
  // op(a)^T [k, m]: its elements lie as those of op(a) do.
  GemmDesc::Matrix right = p.a;
  right.transpose = !p.a.transpose;
  bool begun = p.accumulate || p.bias;
  for (int64_t first = 0; first < p.k; first += deepest) {
    int64_t length = std::min(deepest, p.k - first);
    if (execute) {
      if (p.m < width())
        std::fill_n(buffers.packedB, stride * length * bytes, std::byte(0));
      packing.packRight(buffers.packedB, stride, stride, right, first, length,
                        0, p.m);
    }
    for (int64_t row = 0; row < count; row += rowsAtOnce) {
      int64_t rows = std::min(rowsAtOnce, count - row);
      for (int64_t inner = 0; inner < length; inner += depth) {
        MicroKernel kernel = microKernel(
            packing.factors,
            {rows, width(), std::min(depth, length - inner), p.b.stride, stride,
             stride, begun || first + inner > 0});
        if (execute)
          kernel(buffers.packedB + inner * stride * bytes,
                 p.b.at(first + inner, column + row),
                 buffers.scratch + row * stride);
      }
    }
  }
}

void TransposedGemmTile::end(int64_t column, int64_t count) {
  if (!execute)
    return;
  int64_t stride = width();
  if (p.alpha != 1)
    simd::loops<float>().scale(buffers.scratch, p.alpha, count * stride);
  if (p.c.dtype == plan::FLOAT32) {
    simd::packLoops<float>().transpose(
        reinterpret_cast<float *>(p.c.at(0, column)), p.c.stride,
        buffers.scratch, stride, count, p.m);
    return;
  }
  // Nothing is packed into a's memory here.
  float *staged = reinterpret_cast<float *>(buffers.packedA);
  forColumns(count, [&](int64_t first, int64_t length) {
    simd::packLoops<float>().transpose(
        staged, length, buffers.scratch + first * stride, stride, length, p.m);
    withFloat32OrHalf(p.c.dtype, [&]<typename S>(S) {
      roundRows(reinterpret_cast<const ComputeOf<S> *>(staged), length,
                reinterpret_cast<S *>(p.c.at(0, column + first)), p.c.stride,
                p.m, length);
    });
  });
}

} // namespace shardc::runtime::cpu
