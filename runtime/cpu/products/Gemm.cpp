// The choice of the library that multiplies, and products by OpenBLAS, one
// thread per call.
//
// Bits and threads. A product for OpenBLAS is cut so that no cut changes a bit:
// - It is cut by rows at multiples of 24. OpenBLAS (its kernels for Haswell,
//   Zen, SkylakeX, Cooperlake and Sandybridge were tried) sums an element the
//   same way wherever its row lies within a group of rows that divides 24.
// - It is never cut into parts small enough for its kernels for small matrices
//   (m n k <= 10^6), unless the whole is that small.
// - It is cut by columns only in tiles that the shape alone decides, since
//   there the kernels do differ by position.
#include "runtime/cpu/products/Gemm.h"

#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/products/MicroKernels.h"
#include "runtime/cpu/products/TiledGemm.h"
#include "runtime/simd/Level.h"
#include "runtime/simd/SmallProduct.h"

#include <algorithm>
#include <atomic>
#include <cblas.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

// Stands in OpenBLAS's tables for kernels that no product of real matrices calls
// (cmake/ShardcOpenBlas.cmake).
extern "C" [[noreturn]] void shardcOpenBlasLeftOut() {
  std::fputs("error: OpenBLAS called a kernel that a trainer does not have: "
             "this is a bug of shardc\n",
             stderr);
  std::abort();
}

namespace shardc::runtime::cpu {
namespace {

/// The rows of a group, at multiples of which products are cut: see above.
constexpr int64_t rowGroup = 24;
constexpr double smallProduct = 1e6;

// OpenBLAS reads its environment in a constructor; this one comes before it. It
// must not start threads of its own (ours call it), and it must choose its
// kernels by the processor at hand: an OPENBLAS_CORETYPE in the environment is
// meant for other programs' copies of the library (Haswell kernels on a
// processor with AVX-512 run at half its speed), and 0.3.21 does not know every
// newer processor.
__attribute__((constructor(101))) void prepareOpenBlas() {
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  if (const char *core = std::getenv("SHARDC_OPENBLAS_CORETYPE"))
    setenv("OPENBLAS_CORETYPE", core, 1);
  else if (simd::level() >= 4)
    setenv("OPENBLAS_CORETYPE",
           __builtin_cpu_supports("avx512bf16") ? "Cooperlake" : "SkylakeX", 1);
  else if (simd::level() >= 3)
    setenv("OPENBLAS_CORETYPE", __builtin_cpu_is("amd") ? "Zen" : "Haswell", 1);
  else
    setenv("OPENBLAS_CORETYPE",
           __builtin_cpu_supports("avx") ? "Sandybridge" : "Nehalem", 1);
}

std::atomic<bool> clockRuns{false};
thread_local double secondsInLibrary = 0;

void call(const Gemm<float> &p, bool accumulate) {
  cblas_sgemm(CblasRowMajor, p.transposeA ? CblasTrans : CblasNoTrans,
              p.transposeB ? CblasTrans : CblasNoTrans, p.m, p.n, p.k, p.alpha,
              p.a, p.strideA, p.b, p.strideB, accumulate, p.c, p.strideC);
}
void call(const Gemm<double> &p, bool accumulate) {
  cblas_dgemm(CblasRowMajor, p.transposeA ? CblasTrans : CblasNoTrans,
              p.transposeB ? CblasTrans : CblasNoTrans, p.m, p.n, p.k, p.alpha,
              p.a, p.strideA, p.b, p.strideB, accumulate, p.c, p.strideC);
}

template <typename T> Gemm<T> rows(Gemm<T> p, int64_t begin, int64_t end) {
  p.a += p.transposeA ? begin : begin * p.strideA;
  p.c += begin * p.strideC;
  p.m = end - begin;
  return p;
}
template <typename T> Gemm<T> columns(Gemm<T> p, int64_t begin, int64_t end) {
  p.b += p.transposeB ? begin * p.strideB : begin;
  p.c += begin;
  if (p.bias)
    p.bias += begin;
  p.n = end - begin;
  return p;
}

template <typename T> double work(const Gemm<T> &p) {
  return double(p.m) * double(p.n) * double(p.k);
}

/// The columns of a tile where a product is wide and low, so that cutting it by
/// rows would read all of b in every thread; 0 where it is cut by rows. They
/// follow from the shape alone.
template <typename T> int64_t columnTile(const Gemm<T> &p) {
  if (p.n < 4 * p.m || p.n < 2048)
    return 0;
  int64_t tile = std::clamp<int64_t>(p.n / 16 / 384 * 384, 768, 3072);
  return double(p.m) * double(tile) * double(p.k) > smallProduct ? tile : 0;
}

/// The description of the same product, for TiledGemm.h.
GemmDesc describe(const Gemm<float> &p) {
  auto matrix = [](const float *data, int64_t stride, bool transpose) {
    auto *bytes = reinterpret_cast<std::byte *>(const_cast<float *>(data));
    return GemmDesc::Matrix{bytes, plan::FLOAT32, stride, transpose};
  };
  GemmDesc result{};
  result.m = p.m, result.n = p.n, result.k = p.k;
  result.a = matrix(p.a, p.strideA, p.transposeA);
  result.b = matrix(p.b, p.strideB, p.transposeB);
  result.c = matrix(p.c, p.strideC, false);
  result.bias = reinterpret_cast<const std::byte *>(p.bias);
  result.biasDtype = plan::FLOAT32;
  result.accumulate = p.accumulate;
  result.alpha = p.alpha;
  return result;
}

/// Calls run(product) where TiledGemm.h takes the product, and says whether it
/// does.
template <typename T, typename Run> bool runTiled(const Gemm<T> &p, Run &&run) {
  if constexpr (std::is_same_v<T, float>) {
    GemmDesc product = describe(p);
    if (isTiled(product)) {
      run(product);
      return true;
    }
  }
  return false;
}

/// Computes what is quicker than calling a library, which needs about as long to
/// begin, and says whether it is. No product that is cut has parts as small.
template <typename T> bool runSmall(const Gemm<T> &p) {
  constexpr double mostWork = 2048;
  if (work(p) > mostWork || p.k == 0 || p.bias ||
      (p.transposeA && p.transposeB))
    return false;
  GemmTimer timer(true);
  int64_t rowA = p.transposeA ? 1 : p.strideA,
          columnA = p.transposeA ? p.strideA : 1;
  simd::smallProductLoops<T>().multiply({p.m, p.n, p.k, p.a, rowA, columnA, p.b,
                                         p.strideB, p.transposeB, p.c,
                                         p.strideC, p.alpha, p.accumulate});
  return true;
}

} // namespace

template <typename T> void gemm(const Gemm<T> &p) {
  if (runTiled(p, [](const GemmDesc &product) { tiledGemm(product); }))
    return;
  if (p.m == 0 || p.n == 0)
    return;
  if (runSmall(p))
    return;
  bool accumulate = p.accumulate;
  if (p.bias) {
    for (int64_t row = 0; row < p.m; ++row)
      std::copy(p.bias, p.bias + p.n, p.c + row * p.strideC);
    accumulate = true;
  } else if (p.k == 0 && !accumulate) {
    for (int64_t row = 0; row < p.m; ++row)
      std::fill_n(p.c + row * p.strideC, p.n, T(0));
  }
  if (p.k == 0)
    return;
  GemmTimer timer(true);
  call(p, accumulate);
}

template <typename T> void gemm(const Gemm<T> &p, ThreadPool &pool) {
  if (runTiled(p, [&](const GemmDesc &product) {
        tiledGemm(product, {1, 0, 0, 0}, pool.workers(), pool);
      }))
    return;
  if (int64_t tile = columnTile(p)) {
    pool.forItems(
        (p.n + tile - 1) / tile, pool.workers(), [&](int64_t item, int) {
          gemm(columns(p, item * tile, std::min(p.n, (item + 1) * tile)));
        });
    return;
  }
  // The last group may have fewer rows. A range has one more group than the
  // limit demands, so that no part falls below it.
  double groupWork = double(rowGroup) * double(p.n) * double(p.k);
  int64_t grain = groupWork > 0 ? int64_t(smallProduct / groupWork) + 2 : 1;
  pool.forRanges(
      (p.m + rowGroup - 1) / rowGroup, grain,
      [&](int64_t begin, int64_t end, int) {
        gemm(rows(p, begin * rowGroup, std::min(p.m, end * rowGroup)));
      });
}

template <typename T>
void gemm(const Gemm<T> &product, const Batch &batch, ThreadPool &pool) {
  if (runTiled(product, [&](const GemmDesc &p) {
        tiledGemm(p, batch, pool.workers(), pool);
      }))
    return;
  auto at = [&](int64_t index) {
    Gemm<T> p = product;
    p.a += index * batch.strideA;
    p.b += index * batch.strideB;
    p.c += index * batch.strideC;
    return p;
  };
  // Few large products run one after the other, each on all threads; others on
  // one thread each. The bits are the same, unless columns are tiled: then the
  // first way is always taken.
  if (columnTile(product) || batch.count < pool.workers()) {
    for (int64_t index = 0; index < batch.count; ++index)
      gemm(at(index), pool);
    return;
  }
  constexpr double workOfFork = 1e5; // a few microseconds
  int64_t grain = int64_t(workOfFork / std::max(1.0, work(product))) + 1;
  pool.forRanges(batch.count, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index)
      gemm(at(index));
  });
}

template <typename T>
void prepareGemm(const Gemm<T> &product, const Batch &batch, ThreadPool &pool) {
  runTiled(product, [&](const GemmDesc &p) {
    prepareTiledGemm(p, batch, pool.workers());
    prepareTiledGemmThreads(pool);
  });
}

int64_t gemmThreadBytes() { return runsTiledGemm() ? tiledGemmBytes : 0; }

double gemmSeconds() { return secondsInLibrary; }
void gemmClock(bool measure) {
  clockRuns.store(measure, std::memory_order_relaxed);
}

GemmTimer::GemmTimer(bool counts)
    : runs(counts && clockRuns.load(std::memory_order_relaxed)) {
  if (runs)
    begin = std::chrono::steady_clock::now();
}
GemmTimer::~GemmTimer() {
  if (runs)
    secondsInLibrary +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
}

const char *gemmLibrary() {
  if (runsTiledGemm())
    return microKernelLibrary();
  static const std::string name = [] {
    std::string config = openblas_get_config();
    return config.substr(0, config.find(' ', config.find(' ') + 1)) + " " +
           openblas_get_corename();
  }();
  return name.c_str();
}

template void gemm(const Gemm<float> &);
template void gemm(const Gemm<double> &);
template void gemm(const Gemm<float> &, ThreadPool &);
template void gemm(const Gemm<double> &, ThreadPool &);
template void prepareGemm(const Gemm<float> &, const Batch &, ThreadPool &);
template void prepareGemm(const Gemm<double> &, const Batch &, ThreadPool &);
template void gemm(const Gemm<float> &, const Batch &, ThreadPool &);
template void gemm(const Gemm<double> &, const Batch &, ThreadPool &);

} // namespace shardc::runtime::cpu
