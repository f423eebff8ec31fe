// Which products the library takes.
#include "test/emulated-cuda/blaslt/Problem.h"

#include <climits>
#include <utility>

namespace shardc::test::cuda {
namespace {

const char *nameOf(int32_t type) {
  switch (type) {
  case CUDA_R_32F:
    return "float32";
  case CUDA_R_64F:
    return "float64";
  case CUDA_R_16F:
    return "float16";
  default:
    return "bfloat16";
  }
}

bool typesAreSupported(const BlasLtMatmulDesc &desc, int32_t a, int32_t b,
                       int32_t c, int32_t d) {
  if (a != b || c != d)
    return false;
  if (desc.compute == CUBLAS_COMPUTE_64F)
    return desc.scale == CUDA_R_64F && a == CUDA_R_64F && d == CUDA_R_64F;
  if (desc.compute != CUBLAS_COMPUTE_32F || desc.scale != CUDA_R_32F)
    return false;
  return d == CUDA_R_32F
             ? a == CUDA_R_32F || a == CUDA_R_16F || a == CUDA_R_16BF
             : d == a && (a == CUDA_R_16F || a == CUDA_R_16BF);
}

/// Whether a layout is one at all.
bool isSound(const BlasLtMatrixLayout &layout) {
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW)
    return false;
  uint64_t run =
      layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns;
  return layout.rows > 0 && layout.columns > 0 && layout.rows <= INT_MAX &&
         layout.columns <= INT_MAX && layout.leading >= int64_t(run) &&
         layout.leading <= INT_MAX && layout.batches >= 1 &&
         layout.batchStride >= 0;
}

Stored stored(const BlasLtMatrixLayout &layout, bool transposed) {
  int64_t rows = layout.rows, columns = layout.columns;
  if (layout.order == CUBLASLT_ORDER_ROW) {
    std::swap(rows, columns);
    transposed = !transposed;
  }
  return {layout.type,
          rows,
          columns,
          layout.leading,
          layout.batches > 1 ? layout.batchStride : 0,
          transposed};
}

/// Whether no batch writes to another: they lie one behind the other, or side by
/// side between two columns (heads of one token).
bool batchesAreApart(const Stored &d, int64_t batches) {
  return batches == 1 ||
         size_t(d.batchStride) * d.elementBytes() >= d.extent(1) ||
         (d.batchStride >= d.rows && d.batchStride * batches <= d.leading);
}

bool epilogueIsSupported(const BlasLtMatmulDesc &desc, const Problem &problem,
                         bool rowsFirst) {
  switch (problem.epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
    return true;
  case CUBLASLT_EPILOGUE_BIAS:
    // cuBLAS 12 has none for a D with rows first.
    return !problem.swapped;
  // A's sums are those of its columns as it is stored, B's of its rows; a GPU
  // refuses the other two. All batches would write one vector.
  case CUBLASLT_EPILOGUE_BGRADA:
    return !rowsFirst && problem.batches == 1 && desc.transposeA == CUBLAS_OP_N;
  case CUBLASLT_EPILOGUE_BGRADB:
    return !rowsFirst && problem.batches == 1 && desc.transposeB == CUBLAS_OP_T;
  default:
    return false;
  }
}

} // namespace

size_t Stored::elementBytes() const {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

size_t Stored::extent(int64_t batches) const {
  return ((batches - 1) * batchStride + (columns - 1) * leading + rows) *
         elementBytes();
}

int64_t Problem::biasLength() const {
  return epilogue == CUBLASLT_EPILOGUE_BGRADB ? n : m;
}

uint64_t Problem::digest() const {
  uint64_t hash = 14695981039346656037u; // FNV-1a's
  auto add = [&](uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8)
      hash = (hash ^ (value & 255)) * 1099511628211u;
  };
  add(compute);
  add(batches);
  add(swapped);
  add(epilogue);
  for (const Stored *part : {&a, &b, &c, &d}) {
    add(part->type);
    add(part->rows);
    add(part->columns);
    add(part->leading);
    add(part->batchStride);
    add(part->transposed);
  }
  return hash;
}

std::string Problem::describe() const {
  auto shape = [&](int64_t rows, int64_t columns) {
    return "[" +
           (batches > 1 ? std::to_string(batches) + ", " : std::string()) +
           std::to_string(rows) + ", " + std::to_string(columns) + "]";
  };
  return std::string(nameOf(a.type)) + " " + shape(m, k) + " x " + shape(k, n) +
         " -> " + nameOf(d.type);
}

cublasStatus_t resolve(const BlasLtMatmulDesc &desc,
                       const BlasLtMatrixLayout &a, const BlasLtMatrixLayout &b,
                       const BlasLtMatrixLayout &c, const BlasLtMatrixLayout &d,
                       Problem &problem) {
  if (!typesAreSupported(desc, a.type, b.type, c.type, d.type))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int32_t transpose : {desc.transposeA, desc.transposeB})
    if (transpose != CUBLAS_OP_N && transpose != CUBLAS_OP_T)
      return CUBLAS_STATUS_INVALID_VALUE;
  for (const BlasLtMatrixLayout *layout : {&a, &b, &c, &d})
    if (!isSound(*layout) || layout->batches != d.batches)
      return CUBLAS_STATUS_INVALID_VALUE;
  bool transposeA = desc.transposeA == CUBLAS_OP_T;
  bool transposeB = desc.transposeB == CUBLAS_OP_T;
  uint64_t m = transposeA ? a.columns : a.rows;
  uint64_t k = transposeA ? a.rows : a.columns;
  uint64_t n = transposeB ? b.rows : b.columns;
  if ((transposeB ? b.columns : b.rows) != k || d.rows != m || d.columns != n ||
      c.rows != m || c.columns != n || c.order != d.order)
    return CUBLAS_STATUS_INVALID_VALUE;

  bool rowsFirst = false;
  for (const BlasLtMatrixLayout *layout : {&a, &b, &d})
    rowsFirst |= layout->order == CUBLASLT_ORDER_ROW;
  problem.compute = desc.compute;
  problem.m = m, problem.n = n, problem.k = k, problem.batches = d.batches;
  problem.swapped = d.order == CUBLASLT_ORDER_ROW;
  problem.a = stored(a, transposeA), problem.b = stored(b, transposeB);
  problem.c = stored(c, false), problem.d = stored(d, false);
  problem.c.transposed = problem.d.transposed = false;
  problem.epilogue = desc.epilogue;
  if (problem.swapped) {
    std::swap(problem.a, problem.b);
    std::swap(problem.m, problem.n);
    problem.a.transposed = !problem.a.transposed;
    problem.b.transposed = !problem.b.transposed;
  }
  if (!batchesAreApart(problem.d, problem.batches))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!epilogueIsSupported(desc, problem, rowsFirst) ||
      (desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT && desc.biasType != -1 &&
       desc.biasType != d.type))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace shardc::test::cuda
