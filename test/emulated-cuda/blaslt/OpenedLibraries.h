// The CUDA libraries that the loader finds under their sonames, real or
// emulated, for suites that hold for both; and a device's memory and stream.
#ifndef SHARDC_TEST_EMULATEDCUDA_BLASLT_OPENEDLIBRARIES_H
#define SHARDC_TEST_EMULATEDCUDA_BLASLT_OPENEDLIBRARIES_H

#include "runtime/cuda/api/BlasLt.h"
#include "runtime/cuda/api/Nccl.h"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace shardc::test::cuda {

using namespace shardc::cuda;

/// Functions are null where a library lacks them.
struct OpenedLibraries {
#define SHARDC_MEMBER(name, symbol, arguments)                                 \
  CUresult(*name) arguments = nullptr;
  SHARDC_CUDA_DRIVER(SHARDC_MEMBER)
#undef SHARDC_MEMBER
#define SHARDC_MEMBER(result, name, arguments)                                 \
  result(*name) arguments = nullptr;
  SHARDC_CUDA_BLASLT(SHARDC_MEMBER)
  SHARDC_CUDA_NCCL(SHARDC_MEMBER)
#undef SHARDC_MEMBER
  bool hasDriver = false, hasBlasLt = false, hasNccl = false;
  /// The driver is the tests' own: misuse ends the process with
  /// `codeOfFindings`.
  bool emulated = false;
  int devices = 0;
};
inline constexpr int codeOfFindings = 86;

/// Opened once; cuInit has been called where there is a driver.
const OpenedLibraries &opened();

/// Throws a std::runtime_error that names the call.
void check(int result, const char *call);
#define SHARDC_CHECK(call) ::shardc::test::cuda::check(call, #call)

/// The calling thread's device, with a stream that computes. To be made after a
/// fork.
class Device {
public:
  explicit Device(int ordinal = 0);
  ~Device();
  Device(const Device &) = delete;

  /// Lives as long as the device.
  CUdeviceptr allocate(size_t bytes);
  void upload(CUdeviceptr to, const void *from, size_t bytes);
  void download(void *to, CUdeviceptr from, size_t bytes);
  void settle() { SHARDC_CHECK(opened().cuStreamSynchronize(stream)); }

  template <typename T> CUdeviceptr put(const std::vector<T> &values) {
    CUdeviceptr address = allocate(values.size() * sizeof(T));
    upload(address, values.data(), values.size() * sizeof(T));
    return address;
  }
  template <typename T> std::vector<T> get(CUdeviceptr from, size_t count) {
    std::vector<T> values(count);
    download(values.data(), from, count * sizeof(T));
    return values;
  }

  CUstream stream = nullptr;

private:
  void *staging(size_t bytes);

  const int ordinal;
  std::vector<CUdeviceptr> allocations;
  void *pinned = nullptr;
  size_t pinnedBytes = 0;
};

inline void *pointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

} // namespace shardc::test::cuda

#endif
