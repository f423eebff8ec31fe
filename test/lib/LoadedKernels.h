// Kernels of a shared object, loaded into this process from memory.
#ifndef SHARDC_TEST_LIB_LOADEDKERNELS_H
#define SHARDC_TEST_LIB_LOADEDKERNELS_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace shardc::test {

using KernelFunction = void (*)(void *const *arguments, int64_t begin,
                                int64_t end);

class LoadedKernels {
public:
  static llvm::Expected<LoadedKernels> load(llvm::StringRef sharedObject);
  LoadedKernels(LoadedKernels &&other)
      : handle(other.handle), file(other.file) {
    other.handle = nullptr;
  }
  LoadedKernels &operator=(LoadedKernels &&) = delete;
  ~LoadedKernels();

  /// Returns null where the shared object has no such function.
  KernelFunction find(const std::string &symbol) const;

private:
  LoadedKernels(void *handle, int file) : handle(handle), file(file) {}
  void *handle;
  /// The file is open for as long as the library: the loader knows a library by
  /// its path, which has this number in it.
  int file;
};

} // namespace shardc::test

#endif
