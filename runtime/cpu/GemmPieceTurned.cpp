// A product of few rows whose b is stored transposed, computed the other way
// around: b is read once, where it lies, and only a is packed.
#include "runtime/cpu/GemmPiece.h"
#include "runtime/cpu/NarrowRows.h"
#include "runtime/simd/Pack.h"

namespace shardc::runtime::cpu {

using namespace tiles;

/// Columns of c for all rows: sums [columns, m] in the scratch.
void GemmPiece::runTurned(int64_t column, int64_t columns) {
  int64_t bytes = elementBytes();
  // What the kernels call columns: the rows of c.
  int64_t width = std::max<int64_t>(p.m, 2 * fewestColumns - 2);
  int64_t stride = roundUp(width, 16);
  int64_t most = bytesOfC / (stride * int64_t(sizeof(float)));
  int64_t deepest = bytesOfBlock / (stride * bytes) / depth() * depth();
  Matrix turnedA{p.a.data, p.a.dtype, p.a.stride, !p.a.transpose};
  float *staged = reinterpret_cast<float *>(packedA);
  for (int64_t end = column + columns, count; column < end; column += count) {
    count = std::min(most, end - column);
    auto eachBlock = [&](auto &&function) {
      constexpr int64_t step = 512;
      for (int64_t first = 0; first < count; first += step)
        function(first, std::min(step, count - first));
    };
    if (execute && p.accumulate)
      eachBlock([&](int64_t first, int64_t length) {
        withNarrow(p.c.dtype, [&]<typename S>(S) {
          simd::pack::transpose(
              scratch + first * stride, stride,
              reinterpret_cast<const S *>(at(p.c, 0, column + first)),
              p.c.stride, p.m, length);
        });
      });
    if (execute && p.bias)
      withNarrow(p.biasDtype, [&]<typename S>(S) {
        for (int64_t i = 0; i < count; ++i) {
          S value = reinterpret_cast<const S *>(p.bias)[column + i];
          std::fill_n(scratch + i * stride, width, float(widened(value)));
        }
      });
    bool begun = p.accumulate || p.bias;
    for (int64_t first = 0; first < p.k; first += deepest) {
      int64_t length = std::min(deepest, p.k - first);
      if (execute) {
        if (p.m < width)
          std::fill_n(packedB, stride * length * bytes, std::byte(0));
        // op(a)^T [length, m]: its elements lie as those of op(a) do.
        packRight(packedB, stride, turnedA, first, length, 0, p.m);
      }
      for (int64_t row = 0; row < count; row += rowsAtOnce) {
        int64_t rows = std::min(rowsAtOnce, count - row);
        for (int64_t inner = 0; inner < length; inner += depth()) {
          MicroKernel kernel = microKernel(
              factors,
              {rows, width, std::min(depth(), length - inner), p.b.stride,
               stride, stride, begun || first + inner > 0});
          if (execute)
            kernel(packedB + inner * stride * bytes,
                   at(p.b, first + inner, column + row),
                   scratch + row * stride);
        }
      }
    }
    if (!execute)
      continue;
    if (p.alpha != 1)
      simd::loops<float>().scale(scratch, p.alpha, count * stride);
    if (p.c.dtype == plan::FLOAT32) {
      simd::pack::transpose(reinterpret_cast<float *>(at(p.c, 0, column)),
                            p.c.stride, scratch, stride, count, p.m);
      continue;
    }
    eachBlock([&](int64_t first, int64_t length) {
      simd::pack::transpose(staged, length, scratch + first * stride, stride,
                            length, p.m);
      withNarrow(p.c.dtype, [&]<typename S>(S) {
        narrowRows(reinterpret_cast<const ComputeOf<S> *>(staged), length,
                   reinterpret_cast<S *>(at(p.c, 0, column + first)),
                   p.c.stride, p.m, length);
      });
    });
  }
}

} // namespace shardc::runtime::cpu
