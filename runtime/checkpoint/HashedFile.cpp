// Bytes to the file, and to the hash.
#include "runtime/checkpoint/HashedFile.h"

namespace shardc::runtime {

HashedFile::HashedFile(const std::string &path)
    : file(path), hasher(CheckpointFile::blockBytes) {}

void HashedFile::write(const void *data, size_t size) {
  hasher.add(data, size);
  file.write(data, size);
}

CheckpointFile HashedFile::finish(const std::string &name) {
  file.finish();
  return {name, file.size(), hasher.finish()};
}

} // namespace shardc::runtime
