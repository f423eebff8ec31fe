// A product is cut into tiles of c, each of which one thread computes:
// GemmTile.h.
#include "runtime/cpu/products/TiledGemm.h"

#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/Cut.h"
#include "runtime/cpu/products/GemmTile.h"
#include "runtime/cpu/products/TransposedGemmTile.h"

#include <cstdlib>
#include <string_view>

namespace shardc::runtime::cpu {
namespace {

Factors factorsOf(const GemmDesc &p) {
  static const bool hasPairs = hasMicroKernels(Factors::bfloat16);
  return hasPairs && p.a.dtype == plan::BFLOAT16 && p.b.dtype == plan::BFLOAT16
             ? Factors::bfloat16
             : Factors::float32;
}

/// How a product's result is cut into tiles.
struct Tiling {
  Tiling(const GemmDesc &p, int64_t products, int workers)
      : factors(factorsOf(p)),
        transposed(TransposedGemmTile::serves(p, factors)),
        rows(p.m, transposed || workers == 1 ? p.m : blocking::tileRows,
             blocking::MR),
        columns(p.n, widest(p, products * rows.parts, workers),
                blocking::sizes().NR) {}
  Factors factors;
  bool transposed;
  Cut rows, columns;

  int64_t count() const { return rows.parts * columns.parts; }
  void run(const GemmDesc &p, int64_t index, bool execute) const {
    GemmTimer timer(execute);
    int64_t row = index % rows.parts, column = index / rows.parts;
    if (transposed)
      TransposedGemmTile(p, factors, execute)
          .run(columns.begin(column), columns.length(column));
    else
      GemmTile(p, factors, execute)
          .run(rows.begin(row), rows.length(row), columns.begin(column),
               columns.length(column));
  }

private:
  /// The columns of a tile: there are enough tiles that threads end together.
  static int64_t widest(const GemmDesc &p, int64_t others, int workers) {
    constexpr int64_t perWorker = 4, fewest = 256;
    if (workers == 1 || others >= perWorker * workers)
      return p.n;
    int64_t wanted = (perWorker * workers + others - 1) / others;
    return std::max(fewest, blocking::roundUp((p.n + wanted - 1) / wanted,
                                              blocking::sizes().NR));
  }
};

GemmDesc productAt(GemmDesc p, const Batch &batch, int64_t index) {
  p.a = p.a.moved(index * batch.strideA);
  p.b = p.b.moved(index * batch.strideB);
  p.c = p.c.moved(index * batch.strideC);
  return p;
}

} // namespace

bool runsTiledGemm() {
  static const bool value = [] {
    const char *library = std::getenv("SHARDC_GEMM");
    if (library && std::string_view(library) != "openblas" &&
        std::string_view(library) != "libxsmm")
      fail("SHARDC_GEMM is libxsmm or openblas, got '", library, "'");
    bool runs = hasMicroKernels(Factors::float32);
    if (library && std::string_view(library) == "libxsmm" && !runs)
      fail("SHARDC_GEMM=libxsmm needs a processor with AVX2 and FMA "
           "(x86-64-v3)");
    return runs && !(library && std::string_view(library) == "openblas");
  }();
  return value;
}

bool isTiled(const GemmDesc &p) {
  // Below this OpenBLAS has kernels that need no packing.
  constexpr double leastWork = 32 * 32 * 32;
  bool isSmall = p.n < fewestColumns ||
                 double(p.m) * double(p.n) * double(p.k) < leastWork;
  bool isPlain = p.a.dtype == plan::FLOAT32 && p.b.dtype == plan::FLOAT32 &&
                 p.c.dtype == plan::FLOAT32;
  return runsTiledGemm() && p.k > 0 &&
         (p.alpha == 1 || (!p.accumulate && !p.bias)) && !(isSmall && isPlain);
}

void tiledGemm(const GemmDesc &p) {
  if (p.m == 0 || p.n == 0)
    return;
  Tiling tiling(p, 1, 1);
  for (int64_t tile = 0; tile < tiling.count(); ++tile)
    tiling.run(p, tile, true);
}

void tiledGemm(const GemmDesc &p, const Batch &batch, int workers,
               ThreadPool &pool) {
  if (p.m == 0 || p.n == 0 || batch.count == 0)
    return;
  Tiling tiling(p, batch.count, workers);
  // Threads take neighbouring tiles, and many at a time where they are small.
  constexpr double workOfFork = 1e5; // a few microseconds
  double work =
      double(tiling.rows.part) * double(tiling.columns.part) * double(p.k);
  int64_t grain = int64_t(workOfFork / std::max(1.0, work)) + 1;
  int64_t all = batch.count * tiling.count();
  pool.forItems((all + grain - 1) / grain, workers, [&](int64_t item, int) {
    for (int64_t tile = item * grain; tile < std::min(all, (item + 1) * grain);
         ++tile)
      tiling.run(productAt(p, batch, tile / tiling.count()),
                 tile % tiling.count(), true);
  });
}

void prepareTiledGemm(const GemmDesc &p, const Batch &batch, int workers) {
  if (p.m == 0 || p.n == 0 || batch.count == 0)
    return;
  Tiling tiling(p, batch.count, workers);
  for (int64_t tile = 0; tile < tiling.count(); ++tile)
    tiling.run(p, tile, false);
}

void prepareTiledGemmThreads(ThreadPool &pool) {
  if (runsTiledGemm())
    pool.forRanges(pool.workers(), 1,
                   [](int64_t, int64_t, int) { GemmBuffers::ofThread(); });
}

} // namespace shardc::runtime::cpu
