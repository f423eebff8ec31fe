// Loads a shared library from an anonymous file in memory.
#include "runtime/base/MemoryLibrary.h"
#include "runtime/base/Error.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

/// Puts `image` into a file in memory; returns the path under which the loader
/// finds it.
static std::string writeToMemory(std::span<const std::byte> image,
                                 const char *name, const char *what) {
  int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0)
    failErrno("cannot make a file in memory for ", what);
  for (size_t written = 0; written < image.size();) {
    ssize_t count = write(file, image.data() + written, image.size() - written);
    if (count < 0)
      failErrno("cannot write the ", image.size(), " bytes of ", what,
                " to a file in memory");
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

void *loadFromMemory(std::span<const std::byte> image, const char *name,
                     const char *what) {
  std::string path = writeToMemory(image, name, what);
  // Neither is ever closed: its functions are called until the process ends,
  // and the loader takes a path that it has seen for the library that it found
  // there, so no other file may get this number.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("cannot load ", what, ": ", dlerror());
  return handle;
}

} // namespace shardc::runtime
