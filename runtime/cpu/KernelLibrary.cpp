// Loads the kernels from an anonymous file in memory.
#include "runtime/cpu/KernelLibrary.h"
#include "runtime/base/Error.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

/// Puts `image` into a file in memory; returns the path under which the loader
/// finds it.
static std::string writeToMemory(std::span<const std::byte> image) {
  int file = memfd_create("shardc-kernels", MFD_CLOEXEC);
  if (file < 0)
    failErrno("cannot make a file in memory for the kernels");
  for (size_t written = 0; written < image.size();) {
    ssize_t count = write(file, image.data() + written, image.size() - written);
    if (count < 0)
      failErrno("cannot write ", image.size(),
                " bytes of kernels to a file in memory");
    written += static_cast<size_t>(count);
  }
  // A debugger opens the path that the loader knows. Under /proc/self it would
  // find a file of its own there, perhaps a pipe that it then waits for. Our
  // number names us unless /proc is another namespace's.
  std::string path = concat("/proc/", getpid(), "/fd/", file);
  struct stat made, found;
  bool isOurs = fstat(file, &made) == 0 && stat(path.c_str(), &found) == 0 &&
                made.st_dev == found.st_dev && made.st_ino == found.st_ino;
  return isOurs ? path : concat("/proc/self/fd/", file);
}

KernelLibrary KernelLibrary::open(std::span<const std::byte> image,
                                  const plan::Plan &plan) {
  KernelLibrary library;
  if (plan.kernels().empty())
    return library;
  std::string path = writeToMemory(image);
  // Neither is ever closed: the functions are called until the process ends,
  // and the loader takes a path that it has seen for the library that it found
  // there, so no other file may get this number.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("cannot load the plan's kernels: ", dlerror());
  for (const plan::Kernel &kernel : plan.kernels()) {
    void *symbol = dlsym(handle, kernel.symbol().c_str());
    if (!symbol)
      fail("the kernel library lacks the plan's kernel ", kernel.symbol());
    library.functions.push_back(reinterpret_cast<KernelFunction>(symbol));
  }
  return library;
}

KernelLibrary KernelLibrary::of(std::vector<KernelFunction> functions) {
  KernelLibrary library;
  library.functions = std::move(functions);
  return library;
}

} // namespace shardc::runtime
