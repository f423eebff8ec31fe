// Bytes to the file, and to the hash.
#include "runtime/checkpoint/HashedFile.h"

#include "runtime/base/Error.h"

#include <fcntl.h>
#include <unistd.h>

namespace shardc::runtime {

HashedFile::HashedFile(const std::string &path)
    : path(path),
      file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)),
      hasher(CheckpointFile::blockBytes) {
  if (!file)
    failErrno("cannot write ", path);
}

void HashedFile::write(const void *data, size_t size) {
  file.write(data, size, path);
  hasher.add(data, size);
  // The disk begins now, not at the sync, which also finds its errors.
  sync_file_range(file.get(), off64_t(bytes), off64_t(size),
                  SYNC_FILE_RANGE_WRITE);
  bytes += size;
}

CheckpointFile HashedFile::finish(const std::string &name) {
  if (fsync(file.get()) != 0)
    failErrno("cannot write ", path);
  file.close();
  return {name, bytes, hasher.finish()};
}

} // namespace shardc::runtime
