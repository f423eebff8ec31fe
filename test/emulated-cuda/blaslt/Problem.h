// One product as its descriptors say it, checked: D = alpha op(A) op(B) + beta C.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_PROBLEM_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_PROBLEM_H

#include "test/emulated-cuda/blaslt/Descriptors.h"

#include <string>

namespace shardc::test::cuda {

/// A matrix as it lies in memory, columns first; one with rows first is the
/// transpose of what its layout says.
struct Stored {
  int32_t type;
  int64_t rows, columns, leading, batchStride; // elements
  bool transposed = false;                     // the product has its transpose

  size_t elementBytes() const;
  /// From the first byte to behind the last one, of all batches.
  size_t extent(int64_t batches) const;
};

struct Problem {
  int32_t compute;
  int64_t m, n, k, batches;
  /// D has rows first: the product is computed as its transpose, so that what is
  /// called B lies in `a`, and A in `b`; m and n change places as well.
  bool swapped;
  Stored a, b, c, d;
  uint32_t epilogue;

  /// Elements of the bias, or of its gradient.
  int64_t biasLength() const;
  /// Of all that an algorithm is chosen by.
  uint64_t digest() const;
  /// "bf16 [m, k] x [k, n] -> float32".
  std::string describe() const;
};

/// CUBLAS_STATUS_INVALID_VALUE where the parts contradict each other,
/// CUBLAS_STATUS_NOT_SUPPORTED of what the real library does not have, by the
/// tables of cublasLtMatmul in the cuBLAS reference, 13.0. A null `c` is as `d`.
cublasStatus_t resolve(const BlasLtMatmulDesc &desc,
                       const BlasLtMatrixLayout &a, const BlasLtMatrixLayout &b,
                       const BlasLtMatrixLayout &c, const BlasLtMatrixLayout &d,
                       Problem &problem);

} // namespace shardc::test::cuda

#endif
