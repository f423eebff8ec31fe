// What is remembered of a trainer's calls, and the file that they are written to.
#ifndef SHARDC_TEST_EMULATEDCUDA_LAUNCHES_RECORDING_H
#define SHARDC_TEST_EMULATEDCUDA_LAUNCHES_RECORDING_H

#include "test/emulated-cuda/blaslt/OpenedLibraries.h"

#include <cstdio>
#include <map>
#include <mutex>

namespace shardc::test::cuda {

/// Handles by number, in the order in which they were made.
template <typename Handle> class Numbers {
public:
  void made(Handle handle) { numbers[handle] = next++; }
  void destroyed(Handle handle) { numbers.erase(handle); }
  int of(Handle handle) const {
    auto found = numbers.find(handle);
    return found == numbers.end() ? -1 : found->second;
  }

private:
  std::map<Handle, int> numbers;
  int next = 0;
};

struct Allocation {
  int number;
  size_t bytes;
};

struct Recording {
  std::mutex mutex;
  FILE *file = nullptr;
  std::string memoryFile;
  size_t mostUsed = 0;
  bool isCapturing = false;
  Numbers<CUstream> streams;
  Numbers<CUevent> events;
  Numbers<CUgraphExec> graphs;
  std::map<CUdeviceptr, Allocation> allocations;
  int nextAllocation = 0;
  std::map<CUfunction, std::string> kernels;
  std::map<cublasLtMatrixLayout_t, std::string> layouts;
  std::map<cublasLtMatmulDesc_t, std::string> products;
};

/// Of this process; it ends where SHARDC_LAUNCH_LOG names no file that can be
/// written.
Recording &recording();

/// The libraries' own functions, as far as the trainer has asked for them.
extern OpenedLibraries real;

__attribute__((format(printf, 1, 2))) void line(const char *format, ...);

/// "memory 3 + 256": the allocation and the offset in it.
std::string place(CUdeviceptr address);
std::string place(const void *address);
int number(CUstream stream);
int number(CUevent event);

/// A device may be asked for its memory at any time but in a capture.
void noteMemory();
void allocated(CUdeviceptr address, size_t bytes);

} // namespace shardc::test::cuda

#endif
