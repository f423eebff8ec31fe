// Matrix products: the one interface to a BLAS-like library (OpenBLAS; Gemm.cpp
// alone knows which), and their split over a rank's threads.
#ifndef SHARDC_RUNTIME_CPU_GEMM_H
#define SHARDC_RUNTIME_CPU_GEMM_H

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
  const T *bias =
      nullptr; // [n], added to every row; not together with accumulate
};

/// On the calling thread.
template <typename T> void gemm(const Gemm<T> &product);

/// On all threads of the pool. The result has the same bits for every number of
/// threads.
template <typename T> void gemm(const Gemm<T> &product, ThreadPool &pool);

/// `count` products whose operands lie `batchStride`s (elements) apart; a
/// stride of 0 repeats an operand.
struct Batch {
  int64_t count, strideA, strideB, strideC;
};
template <typename T>
void gemm(const Gemm<T> &product, const Batch &batch, ThreadPool &pool);

/// Seconds that the calling thread has spent in the library since
/// gemmClock(true).
double gemmSeconds();
/// Whether threads measure that (two clock reads per call).
void gemmClock(bool measure);

/// "OpenBLAS 0.3.21 SkylakeX".
const char *gemmLibrary();

} // namespace shardc::runtime::cpu

#endif
