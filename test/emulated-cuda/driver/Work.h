// What libraries that are emulated (cuBLASLt, NCCL) ask of the emulated driver,
// which exports it: work of theirs in a stream, as if it were a kernel.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_WORK_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_WORK_H

#include "runtime/cuda/api/Driver.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::test::cuda {

using namespace shardc::cuda;

/// `rows` runs of `rowBytes` bytes of device memory, whose first bytes lie
/// `stride` bytes apart.
struct Access {
  CUdeviceptr begin = 0;
  size_t rowBytes = 0, rows = 1, stride = 0;
  bool writes = false;
};

struct Work {
  std::string name; // in reports
  /// All that `run` touches. Bytes that are read must have been written; what is
  /// touched must be ordered behind what touched it before.
  std::vector<Access> accesses;
  /// Runs on the stream's thread when its turn comes; once for each launch of
  /// the graph, where the stream is being captured. It may wait for other
  /// devices' work. What it returns other than CUDA_SUCCESS is the context's
  /// error from then on.
  std::function<CUresult()> run;
};

/// Fails as cuLaunchKernel does.
__attribute__((visibility("default"))) CUresult enqueueWork(CUstream stream,
                                                            Work work);
/// Where work finds device memory while it runs: at an address that the host's
/// own code must not use.
__attribute__((visibility("default"))) void *workAddress(CUdeviceptr address);
/// Whether all the bytes lie in one allocation of the calling thread's context.
__attribute__((visibility("default"))) bool isDeviceMemory(CUdeviceptr address,
                                                           size_t bytes);
/// Memory of the calling thread's context that begins with a page, for `function`
/// of a library: as cuMemAlloc, which it fails as. cuMemFree takes it back.
__attribute__((visibility("default"))) CUresult
allocatePages(const char *function, size_t bytes, CUdeviceptr *address);
/// The ordinal of the calling thread's current context's device; -1: none.
__attribute__((visibility("default"))) int currentDevice();
/// Reports a misuse, as a race is reported: prints it and ends the process with
/// the code for findings.
[[noreturn]] __attribute__((visibility("default"))) void
finding(const std::string &text);

/// A mutant (Mutant.h) of what the other libraries are called for.
__attribute__((visibility("default"))) bool
isMutated(const char *kind, const std::string &description);
/// Changes the 64-bit number that a mutant of the kind `shift` names.
__attribute__((visibility("default"))) void
shiftArguments(const std::string &description, void *arguments, size_t bytes);

} // namespace shardc::test::cuda

#endif
