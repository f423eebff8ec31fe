// runtime/cuda/api/BlasLt.h beside NVIDIA's own header, where there is one.
#include "runtime/cuda/api/BlasLt.h"
#include "test/emulated-cuda/SameAsHeader.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace shardc::test::cuda {
namespace {

namespace ours = shardc::cuda;

SHARDC_SAME_VALUE(CUBLAS_STATUS_SUCCESS)
SHARDC_SAME_VALUE(CUBLAS_STATUS_NOT_INITIALIZED)
SHARDC_SAME_VALUE(CUBLAS_STATUS_ALLOC_FAILED)
SHARDC_SAME_VALUE(CUBLAS_STATUS_INVALID_VALUE)
SHARDC_SAME_VALUE(CUBLAS_STATUS_ARCH_MISMATCH)
SHARDC_SAME_VALUE(CUBLAS_STATUS_EXECUTION_FAILED)
SHARDC_SAME_VALUE(CUBLAS_STATUS_INTERNAL_ERROR)
SHARDC_SAME_VALUE(CUBLAS_STATUS_NOT_SUPPORTED)
SHARDC_SAME_VALUE(CUDA_R_32F)
SHARDC_SAME_VALUE(CUDA_R_64F)
SHARDC_SAME_VALUE(CUDA_R_16F)
SHARDC_SAME_VALUE(CUDA_R_16BF)
SHARDC_SAME_VALUE(CUBLAS_COMPUTE_32F)
SHARDC_SAME_VALUE(CUBLAS_COMPUTE_64F)
SHARDC_SAME_VALUE(CUBLAS_OP_N)
SHARDC_SAME_VALUE(CUBLAS_OP_T)
SHARDC_SAME_VALUE(CUBLASLT_MATRIX_LAYOUT_ORDER)
SHARDC_SAME_VALUE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
SHARDC_SAME_VALUE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
SHARDC_SAME_VALUE(CUBLASLT_ORDER_COL)
SHARDC_SAME_VALUE(CUBLASLT_ORDER_ROW)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_DESC_TRANSA)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_DESC_TRANSB)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_DESC_EPILOGUE)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_DESC_BIAS_POINTER)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)
SHARDC_SAME_VALUE(CUBLASLT_EPILOGUE_DEFAULT)
SHARDC_SAME_VALUE(CUBLASLT_EPILOGUE_BIAS)
SHARDC_SAME_VALUE(CUBLASLT_EPILOGUE_BGRADA)
SHARDC_SAME_VALUE(CUBLASLT_EPILOGUE_BGRADB)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
SHARDC_SAME_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)

static_assert(sizeof(ours::cublasLtMatmulAlgo_t) ==
              sizeof(::cublasLtMatmulAlgo_t));
static_assert(sizeof(ours::cublasLtMatmulHeuristicResult_t) ==
              sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(ours::cublasLtMatmulHeuristicResult_t, workspaceSize) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(ours::cublasLtMatmulHeuristicResult_t, state) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(ours::cublasLtMatmulHeuristicResult_t, wavesCount) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, wavesCount));

} // namespace
} // namespace shardc::test::cuda

namespace shardc::cuda {
SHARDC_CUDA_BLASLT(SHARDC_SAME_FUNCTION)
} // namespace shardc::cuda

// What the compiler holds is counted where it is said.
TEST(BlasLtHeader, IsNvidias) { SUCCEED(); }
#else
TEST(BlasLtHeader, IsNvidias) { GTEST_SKIP() << "no cublasLt.h"; }
#endif
