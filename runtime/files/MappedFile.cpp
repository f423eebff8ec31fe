// A file's bytes, mapped for reading.
#include "runtime/files/MappedFile.h"

#include "runtime/files/Descriptor.h"

#include "runtime/base/Error.h"

#include <sys/mman.h>
#include <utility>

namespace shardc::runtime {

MappedFile::MappedFile(const std::string &path) {
  Descriptor file = Descriptor::openForReading(path);
  size = file.regularSize(path);
  if (size == 0)
    return;
  void *address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED)
    failErrno("cannot map ", path);
  begin = static_cast<const std::byte *>(address);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : begin(std::exchange(other.begin, nullptr)),
      size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(begin, other.begin);
  std::swap(size, other.size);
  return *this;
}

MappedFile::~MappedFile() {
  if (begin)
    munmap(const_cast<std::byte *>(begin), size);
}

} // namespace shardc::runtime
