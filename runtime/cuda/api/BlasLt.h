// What the runtime calls of libcublasLt.so.12 or .13, with its own names, types
// and numbers. Written after the cuBLAS reference, 13.0; test/emulated-cuda
// holds it against cublasLt.h where CUDA's toolkit is.
#ifndef SHARDC_RUNTIME_CUDA_API_BLASLT_H
#define SHARDC_RUNTIME_CUDA_API_BLASLT_H

#include "runtime/cuda/api/Driver.h"

namespace shardc::cuda {

using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct BlasLtMatmulDesc *;
using cublasLtMatrixLayout_t = struct BlasLtMatrixLayout *;
using cublasLtMatmulPreference_t = struct BlasLtMatmulPreference *;

enum : cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cudaDataType : int {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
};
enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_64F = 70,
};
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
/// Attributes of a layout; in parentheses their types. The order is columns
/// first, unless it is set.
enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,                // int32_t
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,          // int32_t
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, // int64_t, elements
};
enum cublasLtOrder_t : int {
  CUBLASLT_ORDER_COL = 0,
  CUBLASLT_ORDER_ROW = 1,
};
enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,          // int32_t
  CUBLASLT_MATMUL_DESC_TRANSB = 4,          // int32_t
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,        // uint32_t
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,    // const void *
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26, // int32_t; of D unless it is set
};
enum cublasLtEpilogue_t : unsigned {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  /// Adds a bias to each column of D as it is with columns first: D is [m, n],
  /// the bias has m elements.
  CUBLASLT_EPILOGUE_BIAS = 4,
  /// Writes a bias gradient: the sums of the rows of A ([m, k], m sums) or of
  /// the columns of B ([k, n], n sums).
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512,
};
/// How an algorithm that splits k adds its parts up.
enum cublasLtReductionScheme_t : unsigned {
  CUBLASLT_REDUCTION_SCHEME_NONE = 0,
  CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,      // in D, in its type
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2, // in the workspace
  CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,  // in the workspace, in D's type
  CUBLASLT_REDUCTION_SCHEME_MASK = 7,
};
enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,   // uint64_t
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3, // uint32_t, all by default
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5, // uint32_t, 256 by default
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

/// F(result, name, arguments)
#define SHARDC_CUDA_BLASLT(F)                                                  \
  F(size_t, cublasLtGetVersion, ())                                            \
  F(const char *, cublasLtGetStatusString, (cublasStatus_t status))            \
  F(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle))               \
  F(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle))                \
  F(cublasStatus_t, cublasLtMatmulDescCreate,                                  \
    (cublasLtMatmulDesc_t * desc, cublasComputeType_t compute,                 \
     cudaDataType scale))                                                      \
  F(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc))    \
  F(cublasStatus_t, cublasLtMatmulDescSetAttribute,                            \
    (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,      \
     const void *value, size_t bytes))                                         \
  F(cublasStatus_t, cublasLtMatrixLayoutCreate,                                \
    (cublasLtMatrixLayout_t * layout, cudaDataType type, uint64_t rows,        \
     uint64_t columns, int64_t leadingDimension))                              \
  F(cublasStatus_t, cublasLtMatrixLayoutDestroy,                               \
    (cublasLtMatrixLayout_t layout))                                           \
  F(cublasStatus_t, cublasLtMatrixLayoutSetAttribute,                          \
    (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, \
     const void *value, size_t bytes))                                         \
  F(cublasStatus_t, cublasLtMatmulPreferenceCreate,                            \
    (cublasLtMatmulPreference_t * preference))                                 \
  F(cublasStatus_t, cublasLtMatmulPreferenceDestroy,                           \
    (cublasLtMatmulPreference_t preference))                                   \
  F(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,                      \
    (cublasLtMatmulPreference_t preference,                                    \
     cublasLtMatmulPreferenceAttributes_t attribute, const void *value,        \
     size_t bytes))                                                            \
  F(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,                            \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,                       \
     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                       \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                       \
     cublasLtMatmulPreference_t preference, int wanted,                        \
     cublasLtMatmulHeuristicResult_t *results, int *found))                    \
  F(cublasStatus_t, cublasLtMatmulAlgoCheck,                                   \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,                       \
     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                       \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                       \
     const cublasLtMatmulAlgo_t *algo,                                         \
     cublasLtMatmulHeuristicResult_t *result))                                 \
  F(cublasStatus_t, cublasLtMatmul,                                            \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,    \
     const void *a, cublasLtMatrixLayout_t layoutA, const void *b,             \
     cublasLtMatrixLayout_t layoutB, const void *beta, const void *c,          \
     cublasLtMatrixLayout_t layoutC, void *d, cublasLtMatrixLayout_t layoutD,  \
     const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes, \
     CUstream stream))

} // namespace shardc::cuda

#endif
