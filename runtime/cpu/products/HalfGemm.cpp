// A product is cut into tiles: operands of 16 bits are converted into a
// thread's scratch memory, where the library's float32 product reads them. One
// thread computes a tile of the result, block after block along k.
#include "runtime/cpu/products/HalfGemm.h"

#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Cut.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/WorkspaceSizes.h"
#include "runtime/cpu/products/TiledGemm.h"

#include <algorithm>

namespace shardc::runtime::cpu {
namespace {

using Matrix = GemmDesc::Matrix;

/// A row-major float32 matrix.
struct Float32Matrix {
  const float *data;
  int64_t stride;
};

/// A block of a matrix as float32, as it is stored (transposed or not): where
/// it lies, or converted to `scratch`.
Float32Matrix widenedBlock(const Matrix &matrix, int64_t row, int64_t rows,
                           int64_t column, int64_t columns, float *scratch) {
  std::byte *first = matrix.at(row, column);
  if (matrix.dtype == plan::FLOAT32)
    return {reinterpret_cast<float *>(first), matrix.stride};
  if (matrix.transpose)
    std::swap(rows, columns);
  withFloat32OrHalf(matrix.dtype, [&]<typename S>(S) {
    widenRows(reinterpret_cast<const S *>(first), matrix.stride, scratch,
              columns, rows, columns);
  });
  return {scratch, columns};
}

struct Tiles {
  explicit Tiles(int64_t m, int64_t n, int64_t k)
      : rows(m, ConvertedPanels::mostSide, ConvertedPanels::rowGroup),
        columns(n, ConvertedPanels::mostSide, ConvertedPanels::group),
        depth(k, ConvertedPanels::mostDepth, ConvertedPanels::group) {}
  Cut rows, columns, depth;

  int64_t count() const { return rows.parts * columns.parts; }
  void run(const GemmDesc &product, int64_t tile, float *scratch) const;
};

void Tiles::run(const GemmDesc &product, int64_t tile, float *scratch) const {
  int64_t row = rows.begin(tile % rows.parts),
          column = columns.begin(tile / rows.parts);
  ConvertedPanels places(product.m, product.n, product.k);
  Gemm<float> p{};
  p.m = rows.length(tile % rows.parts);
  p.n = columns.length(tile / rows.parts);
  p.transposeA = product.a.transpose;
  p.transposeB = product.b.transpose;
  std::byte *result = product.c.at(row, column);
  bool isDirect = product.c.dtype == plan::FLOAT32;
  p.c = isDirect ? reinterpret_cast<float *>(result) : scratch + places.c;
  p.strideC = isDirect ? product.c.stride : p.n;
  p.accumulate = product.accumulate;
  p.alpha = product.alpha;
  if (product.accumulate && !isDirect)
    withFloat32OrHalf(product.c.dtype, [&]<typename S>(S) {
      widenRows(reinterpret_cast<const S *>(result), product.c.stride,
                reinterpret_cast<ComputeOf<S> *>(p.c), p.strideC, p.m, p.n);
    });
  if (product.bias) {
    withFloat32OrHalf(product.biasDtype, [&]<typename S>(S) {
      widenRow(reinterpret_cast<const S *>(product.bias) + column,
               scratch + places.bias, p.n);
    });
    p.bias = scratch + places.bias;
  }
  // Without any depth the first block still writes the bias, or zeros.
  for (int64_t block = 0; block == 0 || block < depth.parts; ++block) {
    int64_t first = depth.begin(block);
    p.k = depth.length(block);
    Float32Matrix a = widenedBlock(product.a, row, p.m, first, p.k, scratch);
    Float32Matrix b =
        widenedBlock(product.b, first, p.k, column, p.n, scratch + places.b);
    p.a = a.data, p.strideA = a.stride;
    p.b = b.data, p.strideB = b.stride;
    gemm(p);
    p.accumulate = true;
    p.bias = nullptr;
  }
  if (!isDirect)
    withFloat32OrHalf(product.c.dtype, [&]<typename S>(S) {
      roundRows(reinterpret_cast<const ComputeOf<S> *>(p.c), p.strideC,
                reinterpret_cast<S *>(result), product.c.stride, p.m, p.n);
    });
}

} // namespace

int64_t halfGemmWorkspace(int64_t m, int64_t n, int64_t k) {
  return ConvertedPanels(m, n, k).bytes();
}

void halfGemm(const GemmDesc &product, const Batch &batch, std::byte *workspace,
              int workers, ThreadPool &pool) {
  if (product.m == 0 || product.n == 0)
    return;
  if (isTiled(product)) {
    tiledGemm(product, batch, workers, pool);
    return;
  }
  Tiles tiles(product.m, product.n, product.k);
  int64_t slice = halfGemmWorkspace(product.m, product.n, product.k);
  // Threads take neighbouring tiles, and many at a time where they are small.
  constexpr double workOfFork = 1e5; // a few microseconds
  double work =
      double(tiles.rows.part) * double(tiles.columns.part) * double(product.k);
  int64_t grain = int64_t(workOfFork / std::max(1.0, work)) + 1;
  int64_t all = batch.count * tiles.count(), items = (all + grain - 1) / grain;
  pool.forItems(items, workers, [&](int64_t item, int worker) {
    auto *scratch = reinterpret_cast<float *>(workspace + worker * slice);
    for (int64_t tile = item * grain; tile < std::min(all, (item + 1) * grain);
         ++tile) {
      int64_t index = tile / tiles.count();
      GemmDesc p = product;
      p.a = p.a.moved(index * batch.strideA);
      p.b = p.b.moved(index * batch.strideB);
      p.c = p.c.moved(index * batch.strideC);
      tiles.run(p, tile % tiles.count(), scratch);
    }
  });
}

void halfGemm(const GemmDesc &product, std::byte *workspace, int workers,
              ThreadPool &pool) {
  halfGemm(product, {1, 0, 0, 0}, workspace, workers, pool);
}

void prepareHalfGemm(const GemmDesc &product, const Batch &batch, int workers,
                     ThreadPool &pool) {
  if (!isTiled(product))
    return;
  prepareTiledGemm(product, batch, workers);
  prepareTiledGemmThreads(pool);
}

} // namespace shardc::runtime::cpu
