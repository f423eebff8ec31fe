// The descriptors of cuBLASLt, as their attributes say them. Values are checked
// where the real library checks them: with the product, not when they are set.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_DESCRIPTORS_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_DESCRIPTORS_H

#include "runtime/cuda/api/BlasLt.h"

namespace shardc::cuda {

struct cublasLtContext {
  int device; // the calling thread's when it was made
};
struct BlasLtMatmulDesc {
  int32_t compute, scale;
  int32_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr;
  int32_t biasType = -1;
};
struct BlasLtMatrixLayout {
  int32_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t order = CUBLASLT_ORDER_COL, batches = 1;
  int64_t batchStride = 0;
};
struct BlasLtMatmulPreference {
  uint64_t workspace = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignmentA = 256, alignmentB = 256, alignmentC = 256,
           alignmentD = 256;
};

} // namespace shardc::cuda

namespace shardc::test::cuda {

using namespace shardc::cuda;

extern "C" {
#define SHARDC_EXPORT(result, name, arguments)                                 \
  __attribute__((visibility("default"))) result name arguments;
SHARDC_CUDA_BLASLT(SHARDC_EXPORT)
#undef SHARDC_EXPORT
}

// A handle or descriptor that does not live is a finding; `function` uses it.
void requireAlive(cublasLtHandle_t handle, const char *function);
void requireAlive(cublasLtMatmulDesc_t desc, const char *function);
void requireAlive(cublasLtMatrixLayout_t layout, const char *function);
void requireAlive(cublasLtMatmulPreference_t preference, const char *function);

} // namespace shardc::test::cuda

#endif
