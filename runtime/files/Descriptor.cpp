// An open file, closed when it goes out of scope.
#include "runtime/files/Descriptor.h"

#include "runtime/Error.h"

#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

Descriptor::Descriptor(Descriptor &&other) noexcept
    : fd(std::exchange(other.fd, -1)) {}

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  std::swap(fd, other.fd);
  return *this;
}

Descriptor::~Descriptor() { close(); }

void Descriptor::close() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

uint64_t Descriptor::regularSize(const std::string &name) const {
  struct stat status;
  if (fstat(fd, &status) != 0)
    failErrno("cannot read ", name);
  if (!S_ISREG(status.st_mode))
    fail(name, " is not a regular file");
  return status.st_size;
}

void Descriptor::readAt(uint64_t offset, void *destination, size_t size,
                        const std::string &name) const {
  char *out = static_cast<char *>(destination);
  while (size > 0) {
    ssize_t got = pread(fd, out, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failErrno("cannot read ", name);
    if (got == 0)
      fail(name, " ends at byte ", offset, ", ", size, " bytes too early");
    out += got;
    offset += got;
    size -= got;
  }
}

void Descriptor::write(const void *data, size_t size,
                       const std::string &name) const {
  const char *in = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t put = ::write(fd, in, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      failErrno("cannot write ", name);
    in += put;
    size -= put;
  }
}

} // namespace shardc::runtime
