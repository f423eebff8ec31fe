// The libraries of NVIDIA that a trainer opens when it runs on GPUs, and their
// functions. Nothing of them is linked.
#ifndef SHARDC_RUNTIME_CUDA_LIBRARIES_H
#define SHARDC_RUNTIME_CUDA_LIBRARIES_H

#include "runtime/base/Error.h"
#include "runtime/cuda/api/BlasLt.h"
#include "runtime/cuda/api/Cudnn.h"
#include "runtime/cuda/api/Nccl.h"
#include "runtime/device/Device.h"

#include <mutex>
#include <string>

namespace shardc::runtime::cuda {

using namespace shardc::cuda;

/// What a call of the driver has returned. Errors of what runs on the device
/// come from whichever call is next.
class DriverError : public DeviceError {
public:
  DriverError(CUresult result, const std::string &text)
      : DeviceError(text), result(result) {}
  bool isOfTheDevice() const {
    return result >= CUDA_ERROR_ILLEGAL_ADDRESS &&
           result <= CUDA_ERROR_LAUNCH_FAILED;
  }

private:
  CUresult result;
};

/// A function of libcuda that returns a CUresult, checked by operator().
struct Driver;

template <typename> struct DriverCall;
template <typename... Arguments> struct DriverCall<CUresult(Arguments...)> {
  CUresult (*function)(Arguments...) = nullptr;
  const char *name = "";
  const Driver *driver = nullptr;

  /// Throws a DriverError that names the function and says what went wrong.
  void operator()(Arguments... arguments) const;
};

struct Driver {
#define SHARDC_MEMBER(name, symbol, arguments)                                 \
  DriverCall<CUresult arguments> name;
  SHARDC_CUDA_DRIVER(SHARDC_MEMBER)
#undef SHARDC_MEMBER
  int version = 0; // 13000 of CUDA 13.0

  /// "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string describe(CUresult result) const;
  [[noreturn]] void failed(CUresult result, const char *function) const;
};

/// Its products are enqueued in streams of the driver.
struct BlasLt {
#define SHARDC_MEMBER(result, name, arguments)                                 \
  result(*name) arguments = nullptr;
  SHARDC_CUDA_BLASLT(SHARDC_MEMBER)
#undef SHARDC_MEMBER
  /// Throws an Error that names the function where it did not succeed.
  void check(cublasStatus_t status, const char *function) const;
};

/// What cuDNN does not do.
class CudnnError : public DeviceError {
public:
  using DeviceError::DeviceError;
};

/// Fused operations on tensors; 9.10 or later.
struct Cudnn {
#define SHARDC_MEMBER(result, name, arguments)                                 \
  result(*name) arguments = nullptr;
  SHARDC_CUDA_CUDNN(SHARDC_MEMBER)
#undef SHARDC_MEMBER
  int version = 0; // 91900 of 9.19.0

  /// "cuDNN 9.19.0".
  std::string describe() const;
  /// Throws a CudnnError that names the function where it did not succeed.
  void check(cudnnStatus_t status, const char *function) const;
};

/// Opens libcudnn.so.9, which asks for no driver before its first handle. Throws
/// an Error that says where it comes from.
Cudnn openCudnn();

/// What NCCL has found, here or elsewhere.
class NcclError : public DeviceError {
public:
  using DeviceError::DeviceError;
};

/// Collectives between GPUs; 2.28 or later.
struct Nccl {
#define SHARDC_MEMBER(result, name, arguments)                                 \
  result(*name) arguments = nullptr;
  SHARDC_CUDA_NCCL(SHARDC_MEMBER)
#undef SHARDC_MEMBER
  /// Throws an NcclError; `comm`: what the call was for, which knows more.
  void check(ncclResult_t result, const char *function,
             ncclComm_t comm = nullptr) const;
};

/// Opened once, and never closed: they do not come down in order.
class Libraries {
public:
  /// Opens libcuda.so.1 and starts it. Throws an Error where there is no driver,
  /// one that is too old (before CUDA 12.0), or no GPU.
  Libraries();

  Driver driver;
  /// Opened by who first asks: libcublasLt.so.13 or .12, libcudnn.so.9,
  /// libnccl.so.2, from where the loader looks, or from PyPI's folders below
  /// $VIRTUAL_ENV and $CONDA_PREFIX. Throw an Error that says where they come
  /// from.
  const BlasLt &blasLt() const;
  const Cudnn &cudnn() const;
  const Nccl &nccl() const;

private:
  mutable std::once_flag blasLtOnce, cudnnOnce, ncclOnce;
  mutable BlasLt blasLtFunctions;
  mutable Cudnn cudnnFunctions;
  mutable Nccl ncclFunctions;
};

template <typename... Arguments>
void DriverCall<CUresult(Arguments...)>::operator()(
    Arguments... arguments) const {
  if (CUresult result = function(arguments...); result != CUDA_SUCCESS)
    driver->failed(result, name);
}

} // namespace shardc::runtime::cuda

#endif
