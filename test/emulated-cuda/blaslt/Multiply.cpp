// Products by OpenBLAS, one thread per call.
#include "test/emulated-cuda/blaslt/Multiply.h"

#include "test/emulated-cuda/blaslt/Rounding.h"

#include <cblas.h>
#include <cstdlib>
#include <type_traits>
#include <vector>

namespace shardc::test::cuda {
namespace {

// OpenBLAS reads its environment in a constructor, and this one comes before it:
// streams are threads of their own, and call it at once.
__attribute__((constructor(101))) void prepareOpenBlas() {
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

/// A matrix of T, columns first.
template <typename T> struct Matrix {
  const T *data;
  int64_t leading;
  std::vector<T> widened; // where it is not stored as T
};

template <typename T, typename Narrow>
void widen(const Narrow *from, const Stored &stored, Matrix<T> &matrix) {
  matrix.widened.resize(stored.rows * stored.columns);
  for (int64_t column = 0; column < stored.columns; ++column)
    for (int64_t row = 0; row < stored.rows; ++row)
      matrix.widened[column * stored.rows + row] =
          float(from[column * stored.leading + row]);
  matrix.data = matrix.widened.data();
  matrix.leading = stored.rows;
}

template <typename T>
Matrix<T> load(const void *data, const Stored &stored, int64_t batch) {
  auto *first = static_cast<const char *>(data) +
                batch * stored.batchStride * stored.elementBytes();
  Matrix<T> matrix{reinterpret_cast<const T *>(first), stored.leading, {}};
  if (stored.type == CUDA_R_16BF)
    widen(reinterpret_cast<const Bfloat16 *>(first), stored, matrix);
  else if (stored.type == CUDA_R_16F)
    widen(reinterpret_cast<const Float16 *>(first), stored, matrix);
  return matrix;
}

void gemm(const Problem &p, int64_t depth, const float *a, int64_t leadingA,
          const float *b, int64_t leadingB, float *to) {
  cblas_sgemm(CblasColMajor, p.a.transposed ? CblasTrans : CblasNoTrans,
              p.b.transposed ? CblasTrans : CblasNoTrans, p.m, p.n, depth, 1, a,
              leadingA, b, leadingB, 0, to, p.m);
}
void gemm(const Problem &p, int64_t depth, const double *a, int64_t leadingA,
          const double *b, int64_t leadingB, double *to) {
  cblas_dgemm(CblasColMajor, p.a.transposed ? CblasTrans : CblasNoTrans,
              p.b.transposed ? CblasTrans : CblasNoTrans, p.m, p.n, depth, 1, a,
              leadingA, b, leadingB, 0, to, p.m);
}

/// op(A) op(B), [m, n] without gaps.
template <typename T, typename Out>
std::vector<T> product(const Problem &p, Parts parts, const Matrix<T> &a,
                       const Matrix<T> &b) {
  std::vector<T> sums(p.m * p.n), part(p.m * p.n);
  for (int split = parts.count - 1; split >= 0; --split) {
    int64_t begin = p.k * split / parts.count,
            end = p.k * (split + 1) / parts.count;
    if (begin == end)
      continue;
    gemm(p, end - begin, a.data + begin * (p.a.transposed ? 1 : a.leading),
         a.leading, b.data + begin * (p.b.transposed ? b.leading : 1),
         b.leading, part.data());
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += parts.areRounded ? T(Out(part[i])) : part[i];
  }
  return sums;
}

template <typename T, typename Out>
void finish(const Problem &p, T alpha, T beta, const std::vector<T> &sums,
            const Addresses &addresses, int64_t batch) {
  auto *c = static_cast<const Out *>(addresses.c) + batch * p.c.batchStride;
  auto *d = static_cast<Out *>(addresses.d) + batch * p.d.batchStride;
  auto *bias = p.epilogue == CUBLASLT_EPILOGUE_BIAS
                   ? static_cast<const Out *>(addresses.bias)
                   : nullptr;
  for (int64_t column = 0; column < p.n; ++column)
    for (int64_t row = 0; row < p.m; ++row) {
      T value = alpha * sums[column * p.m + row];
      if (beta != 0)
        value += beta * static_cast<T>(c[column * p.c.leading + row]);
      if (bias)
        value += static_cast<T>(bias[row]);
      d[column * p.d.leading + row] = static_cast<Out>(value);
    }
}

/// Sums over k, the last first: of the rows of A, or of the columns of B.
template <typename T, typename Out>
void sumBias(const Problem &p, const Matrix<T> &a, const Matrix<T> &b,
             Out *to) {
  // BGRADA has A as it is, and BGRADB has B transposed: `to` goes with the rows
  // of both as they are stored.
  const Matrix<T> &from = p.epilogue == CUBLASLT_EPILOGUE_BGRADA ? a : b;
  for (int64_t i = 0; i < p.biasLength(); ++i) {
    T sum = 0;
    for (int64_t j = p.k - 1; j >= 0; --j)
      sum += from.data[j * from.leading + i];
    to[i] = static_cast<Out>(sum);
  }
}

template <typename T, typename Out>
void multiplyAs(const Problem &problem, Parts parts, T alpha, T beta,
                const Addresses &addresses) {
  for (int64_t batch = 0; batch < problem.batches; ++batch) {
    Matrix<T> a = load<T>(addresses.a, problem.a, batch);
    Matrix<T> b = load<T>(addresses.b, problem.b, batch);
    finish<T, Out>(problem, alpha, beta, product<T, Out>(problem, parts, a, b),
                   addresses, batch);
    if (problem.epilogue == CUBLASLT_EPILOGUE_BGRADA ||
        problem.epilogue == CUBLASLT_EPILOGUE_BGRADB)
      sumBias(problem, a, b, static_cast<Out *>(addresses.bias));
  }
}

} // namespace

void multiply(const Problem &problem, Parts parts, double alpha, double beta,
              const Addresses &addresses) {
  switch (problem.d.type) {
  case CUDA_R_64F:
    return multiplyAs<double, double>(problem, parts, alpha, beta, addresses);
  case CUDA_R_32F:
    return multiplyAs<float, float>(problem, parts, alpha, beta, addresses);
  case CUDA_R_16F:
    return multiplyAs<float, Float16>(problem, parts, alpha, beta, addresses);
  default:
    return multiplyAs<float, Bfloat16>(problem, parts, alpha, beta, addresses);
  }
}

} // namespace shardc::test::cuda
