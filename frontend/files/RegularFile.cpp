// Files that the user names, opened for reading.
#include "frontend/files/RegularFile.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace shardc {

static StringRef kindOf(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISCHR(mode)  ? "a device"
         : S_ISBLK(mode)  ? "a block device"
         : S_ISSOCK(mode) ? "a socket"
                          : "something else";
}

Expected<std::unique_ptr<MemoryBuffer>> mapRegularFile(int descriptor,
                                                       StringRef name) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0)
    return errorCodeToError(errnoAsErrorCode());
  if (!S_ISREG(status.st_mode))
    return createStringError("is not a regular file but " +
                             kindOf(status.st_mode));
  auto buffer = MemoryBuffer::getOpenFile(descriptor, name, status.st_size,
                                          /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  return std::move(*buffer);
}

Expected<std::unique_ptr<MemoryBuffer>> mapRegularFile(StringRef path) {
  // Has no effect on regular files, and keeps all others from blocking.
  int descriptor = open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return errorCodeToError(errnoAsErrorCode());
  auto buffer = mapRegularFile(descriptor, path);
  close(descriptor);
  return buffer;
}

} // namespace shardc
