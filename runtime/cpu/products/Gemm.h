// Matrix products: the one interface to the libraries that multiply, and their
// split over a rank's threads. On processors with AVX2 float32 is multiplied
// by libxsmm's kernels (TiledGemm.h), everything else by OpenBLAS (Gemm.cpp),
// but what is over before a library has begun (simd/SmallProduct.h).
// SHARDC_GEMM=openblas in the environment takes OpenBLAS instead of libxsmm.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_GEMM_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_GEMM_H

#include <chrono>
#include <cstdint>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// c = alpha * op(a) op(b) (+ c). Row-major; op(a) is [m, k], op(b) [k, n], c
/// [m, n]; `stride`s are elements from row to row as stored.
template <typename T> struct Gemm {
  int64_t m, n, k;
  const T *a;
  int64_t strideA;
  bool transposeA;
  const T *b;
  int64_t strideB;
  bool transposeB;
  T *c;
  int64_t strideC;
  T alpha = 1;
  bool accumulate = false;
  /// [n], added to every row; not together with accumulate.
  const T *bias = nullptr;
};

/// Computes a product on the calling thread.
template <typename T> void gemm(const Gemm<T> &product);

/// Computes it on all threads of the pool. The result has the same bits for
/// every number of threads.
template <typename T> void gemm(const Gemm<T> &product, ThreadPool &pool);

/// `count` products whose operands lie `batchStride`s (elements) apart; a
/// stride of 0 repeats an operand.
struct Batch {
  int64_t count, strideA, strideB, strideC;
};
template <typename T>
void gemm(const Gemm<T> &product, const Batch &batch, ThreadPool &pool);

/// Does what a product's first run would do besides multiplying: generates its
/// kernels and takes the threads' memory for packed operands. Optional.
template <typename T>
void prepareGemm(const Gemm<T> &product, const Batch &batch, ThreadPool &pool);

/// Bytes that every thread which multiplies keeps for packed operands. They are
/// 0 where OpenBLAS multiplies, whose buffers are its own.
int64_t gemmThreadBytes();

/// Seconds that the calling thread has spent on products since
/// gemmClock(true).
double gemmSeconds();
/// Whether threads measure that (two clock reads per call).
void gemmClock(bool measure);
/// Counts its lifetime as time spent on products, if `counts`. Only the
/// products themselves use it.
class GemmTimer {
public:
  explicit GemmTimer(bool counts);
  ~GemmTimer();
  GemmTimer(const GemmTimer &) = delete;
  GemmTimer &operator=(const GemmTimer &) = delete;

private:
  bool runs;
  std::chrono::steady_clock::time_point begin;
};

/// The library that multiplies float32: "libxsmm 1.17 cpx", "OpenBLAS 0.3.21
/// Haswell".
const char *gemmLibrary();

} // namespace shardc::runtime::cpu

#endif
