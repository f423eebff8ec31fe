// A file that exists only in memory is opened by dlopen.
#include "LoadedKernels.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::test {

llvm::Expected<LoadedKernels>
LoadedKernels::load(llvm::StringRef sharedObject) {
  int file = memfd_create("kernels", MFD_CLOEXEC);
  if (file < 0)
    return llvm::createStringError(
        "cannot create a file in memory for the kernels");
  for (llvm::StringRef rest = sharedObject; !rest.empty();) {
    ssize_t written = write(file, rest.data(), rest.size());
    if (written <= 0) {
      close(file);
      return llvm::createStringError("cannot write the kernels to memory");
    }
    rest = rest.drop_front(written);
  }
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(),
                        RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    close(file);
    return llvm::createStringError(std::string("cannot load the kernels: ") +
                                   dlerror());
  }
  return LoadedKernels(handle, file);
}

LoadedKernels::~LoadedKernels() {
  if (!handle)
    return;
  dlclose(handle);
  close(file);
}

KernelFunction LoadedKernels::find(const std::string &symbol) const {
  return reinterpret_cast<KernelFunction>(dlsym(handle, symbol.c_str()));
}

} // namespace shardc::test
