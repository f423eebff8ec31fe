// What the libFuzzer targets share: an input as a file, and errors that are
// answers, not findings.
#ifndef SHARDC_TEST_FUZZ_READERS_HARNESS_H
#define SHARDC_TEST_FUZZ_READERS_HARNESS_H

#include "runtime/base/Error.h"
#include "runtime/files/Descriptor.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::fuzz {

/// Makes `bytes` all that a file holds. Its pages stay: to free and to take them
/// costs more than most readers do.
inline void hold(const runtime::Descriptor &file,
                 std::span<const std::byte> bytes) {
  if (pwrite(file.get(), bytes.data(), bytes.size(), 0) !=
          ssize_t(bytes.size()) ||
      ftruncate(file.get(), off_t(bytes.size())) != 0)
    std::abort();
}

/// A file in memory, which holds one input after the other.
class MemoryFile {
public:
  MemoryFile() : file(memfd_create("input", MFD_CLOEXEC)) {}

  void hold(std::span<const std::byte> bytes) { fuzz::hold(file, bytes); }
  const runtime::Descriptor &descriptor() const { return file; }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(file.get());
  }

private:
  runtime::Descriptor file;
};

inline std::span<const std::byte> bytesOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const std::byte *>(data), size};
}

/// Every input is either read or refused by an Error of one line.
template <typename Body> void read(Body body) {
  try {
    body();
  } catch (const runtime::Error &error) {
    if (*error.what() == '\0')
      std::abort();
  }
}

/// A property that holds for whatever was read.
inline void require(bool holds) {
  if (!holds)
    std::abort();
}

} // namespace shardc::fuzz

#endif
