// Handles and descriptors: which of them live, and their attributes.
#include "test/emulated-cuda/blaslt/Descriptors.h"

#include "test/emulated-cuda/driver/Work.h"

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>

namespace shardc::test::cuda {
namespace {

/// Those of one type that live.
template <typename T> class Living {
public:
  explicit Living(const char *what) : what(what) {}

  template <typename... Values> T *make(Values... values) {
    T *made = new T{values...};
    std::lock_guard lock(mutex);
    all.insert(made);
    return made;
  }
  void require(T *one, const char *function) {
    std::lock_guard lock(mutex);
    if (!all.contains(one))
      finding(std::string(function) + " is given a " + what +
              " that was destroyed or never made");
  }
  void destroy(T *one, const char *function) {
    require(one, function);
    std::lock_guard lock(mutex);
    all.erase(one);
    delete one;
  }

private:
  const char *what;
  std::mutex mutex;
  std::unordered_set<T *> all;
};

// Never destroyed: a process may end while other threads still work.
auto &handles = *new Living<cublasLtContext>("handle");
auto &descs = *new Living<BlasLtMatmulDesc>("product's descriptor");
auto &layouts = *new Living<BlasLtMatrixLayout>("matrix layout");
auto &preferences = *new Living<BlasLtMatmulPreference>("preference");

template <typename T>
cublasStatus_t set(T &attribute, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

void requireAlive(cublasLtHandle_t handle, const char *function) {
  handles.require(handle, function);
}
void requireAlive(cublasLtMatmulDesc_t desc, const char *function) {
  descs.require(desc, function);
}
void requireAlive(cublasLtMatrixLayout_t layout, const char *function) {
  layouts.require(layout, function);
}
void requireAlive(cublasLtMatmulPreference_t preference, const char *function) {
  preferences.require(preference, function);
}

extern "C" {

size_t cublasLtGetVersion() { return 130100; }

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "the library was not initialized";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "the resource allocation failed";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an unsupported value or parameter was passed to the function";
  case CUBLAS_STATUS_ARCH_MISMATCH:
    return "the function requires an architectural feature absent from the "
           "device";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "the function failed to launch on the GPU";
  case CUBLAS_STATUS_INTERNAL_ERROR:
    return "an internal operation failed";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the requested functionality is not supported";
  default:
    return "unrecognized status";
  }
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  if (!handle)
    return CUBLAS_STATUS_INVALID_VALUE;
  int device = currentDevice();
  if (device < 0)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = handles.make(device);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle)
    return CUBLAS_STATUS_INVALID_VALUE;
  handles.destroy(handle, "cublasLtDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType scale) {
  if (!desc)
    return CUBLAS_STATUS_INVALID_VALUE;
  *desc = descs.make(int32_t(compute), int32_t(scale));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  if (desc)
    descs.destroy(desc, "cublasLtMatmulDescDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  if (!desc)
    return CUBLAS_STATUS_INVALID_VALUE;
  requireAlive(desc, "cublasLtMatmulDescSetAttribute");
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(desc->transposeA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(desc->transposeB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(desc->epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(desc->bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return set(desc->biasType, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns,
                                          int64_t leadingDimension) {
  if (!layout)
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = layouts.make(int32_t(type), rows, columns, leadingDimension);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  if (layout)
    layouts.destroy(layout, "cublasLtMatrixLayoutDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  if (!layout)
    return CUBLAS_STATUS_INVALID_VALUE;
  requireAlive(layout, "cublasLtMatrixLayoutSetAttribute");
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return set(layout->order, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return set(layout->batches, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return set(layout->batchStride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  if (!preference)
    return CUBLAS_STATUS_INVALID_VALUE;
  *preference = preferences.make();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  if (preference)
    preferences.destroy(preference, "cublasLtMatmulPreferenceDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  if (!preference)
    return CUBLAS_STATUS_INVALID_VALUE;
  requireAlive(preference, "cublasLtMatmulPreferenceSetAttribute");
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set(preference->workspace, value, bytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return set(preference->reductions, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return set(preference->alignmentA, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return set(preference->alignmentB, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return set(preference->alignmentC, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set(preference->alignmentD, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

} // extern "C"

} // namespace shardc::test::cuda
