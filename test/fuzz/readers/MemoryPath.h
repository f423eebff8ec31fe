// An input as a file that the compiler opens by its path.
#ifndef SHARDC_TEST_FUZZ_READERS_MEMORYPATH_H
#define SHARDC_TEST_FUZZ_READERS_MEMORYPATH_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::fuzz {

/// The path of a file in memory that holds these bytes until the next call.
inline std::string memoryPath(const uint8_t *data, size_t size) {
  static const int file = memfd_create("input", MFD_CLOEXEC);
  // Its pages stay: to free and to take them costs more than a small input does.
  if (pwrite(file, data, size, 0) != ssize_t(size) ||
      ftruncate(file, off_t(size)) != 0)
    std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

} // namespace shardc::fuzz

#endif
