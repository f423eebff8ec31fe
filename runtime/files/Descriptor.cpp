// An open file, closed when it goes out of scope.
#include "runtime/files/Descriptor.h"

#include "runtime/base/Error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

Descriptor Descriptor::openForReading(const std::string &path,
                                      const std::string &name) {
  // Has no effect on regular files, and keeps all others from blocking.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    failErrno("cannot open ", name);
  file.regularSize(name);
  return file;
}

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

static const char *kindOf(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISCHR(mode)  ? "a device"
         : S_ISBLK(mode)  ? "a block device"
         : S_ISSOCK(mode) ? "a socket"
                          : "something else";
}

uint64_t Descriptor::regularSize(const std::string &name) const {
  struct stat status;
  if (fstat(fd, &status) != 0)
    failErrno("cannot read ", name);
  if (!S_ISREG(status.st_mode))
    fail(name, " is not a regular file but ", kindOf(status.st_mode));
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
      fail(name, " was truncated while it was in use: it ends ", size,
           " bytes before byte ", offset + size);
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
