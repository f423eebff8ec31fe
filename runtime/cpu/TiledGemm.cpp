// A product is cut into pieces (tiles of rows, ranges of columns), each
// computed by one thread: GemmPiece.h.
#include "runtime/cpu/TiledGemm.h"

#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/GemmPiece.h"

#include <cstdlib>
#include <string_view>

namespace shardc::runtime::cpu {
namespace {

Factors factorsOf(const NarrowGemm &p) {
  static const bool hasPairs = hasMicroKernels(Factors::bfloat16);
  return hasPairs && p.a.dtype == plan::BFLOAT16 && p.b.dtype == plan::BFLOAT16
             ? Factors::bfloat16
             : Factors::float32;
}

/// A product's pieces.
struct Pieces {
  Pieces(const NarrowGemm &p, int64_t products, int workers)
      : factors(factorsOf(p)), turned(GemmPiece::isTurned(p, factors)),
        rows(p.m, turned || workers == 1 ? p.m : tiles::rowsOfPiece,
             tiles::rowGroup),
        columns(p.n, widest(p, products * rows.parts, workers),
                tiles::panelColumns) {}
  Factors factors;
  bool turned;
  Cut rows, columns;

  int64_t count() const { return rows.parts * columns.parts; }
  void run(const NarrowGemm &p, int64_t index, bool execute) const {
    GemmTimer timer(execute);
    GemmPiece piece(p, factors, execute);
    int64_t row = index % rows.parts, column = index / rows.parts;
    if (turned)
      piece.runTurned(columns.begin(column), columns.length(column));
    else
      piece.run(rows.begin(row), rows.length(row), columns.begin(column),
                columns.length(column));
  }

private:
  /// Columns of a piece: enough pieces that threads end together.
  static int64_t widest(const NarrowGemm &p, int64_t others, int workers) {
    constexpr int64_t perWorker = 4, narrowest = 256;
    if (workers == 1 || others >= perWorker * workers)
      return p.n;
    int64_t wanted = (perWorker * workers + others - 1) / others;
    return std::max(narrowest, tiles::roundUp((p.n + wanted - 1) / wanted,
                                              tiles::panelColumns));
  }
};

NarrowGemm productAt(NarrowGemm p, const Batch &batch, int64_t index) {
  auto move = [&](NarrowGemm::Matrix &matrix, int64_t elements) {
    matrix.data +=
        index * elements * static_cast<int64_t>(elementSize(matrix.dtype));
  };
  move(p.a, batch.strideA);
  move(p.b, batch.strideB);
  move(p.c, batch.strideC);
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
      fail("SHARDC_GEMM=libxsmm needs a processor with AVX-512");
    return runs && !(library && std::string_view(library) == "openblas");
  }();
  return value;
}

bool isTiled(const NarrowGemm &p) {
  // Below this OpenBLAS has kernels that need no packing.
  constexpr double leastWork = 32 * 32 * 32;
  bool isSmall = p.n < fewestColumns ||
                 double(p.m) * double(p.n) * double(p.k) < leastWork;
  bool isPlain = p.a.dtype == plan::FLOAT32 && p.b.dtype == plan::FLOAT32 &&
                 p.c.dtype == plan::FLOAT32;
  return runsTiledGemm() && p.k > 0 &&
         (p.alpha == 1 || (!p.accumulate && !p.bias)) && !(isSmall && isPlain);
}

void tiledGemm(const NarrowGemm &p) {
  if (p.m == 0 || p.n == 0)
    return;
  Pieces pieces(p, 1, 1);
  for (int64_t piece = 0; piece < pieces.count(); ++piece)
    pieces.run(p, piece, true);
}

void tiledGemm(const NarrowGemm &p, const Batch &batch, int workers,
               ThreadPool &pool) {
  if (p.m == 0 || p.n == 0 || batch.count == 0)
    return;
  Pieces pieces(p, batch.count, workers);
  // Threads take neighbouring pieces, and many at once where they are small.
  constexpr double workOfFork = 1e5; // a few microseconds
  double work =
      double(pieces.rows.part) * double(pieces.columns.part) * double(p.k);
  int64_t grain = int64_t(workOfFork / std::max(1.0, work)) + 1;
  int64_t all = batch.count * pieces.count();
  pool.forPieces((all + grain - 1) / grain, workers, [&](int64_t index, int) {
    for (int64_t piece = index * grain;
         piece < std::min(all, (index + 1) * grain); ++piece)
      pieces.run(productAt(p, batch, piece / pieces.count()),
                 piece % pieces.count(), true);
  });
}

void prepareTiledGemm(const NarrowGemm &p, const Batch &batch, int workers) {
  if (p.m == 0 || p.n == 0 || batch.count == 0)
    return;
  Pieces pieces(p, batch.count, workers);
  for (int64_t piece = 0; piece < pieces.count(); ++piece)
    pieces.run(p, piece, false);
}

void prepareTiledGemmThreads(ThreadPool &pool) {
  if (runsTiledGemm())
    pool.forRanges(pool.workers(), 1,
                   [](int64_t, int64_t, int) { tiles::threadMemory(); });
}

} // namespace shardc::runtime::cpu
