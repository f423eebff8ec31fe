// A file that is hashed as it is written.
#ifndef SHARDC_RUNTIME_CHECKPOINT_HASHEDFILE_H
#define SHARDC_RUNTIME_CHECKPOINT_HASHEDFILE_H

#include "runtime/checkpoint/Hash.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/files/Descriptor.h"

#include <string>

namespace shardc::runtime {

class HashedFile {
public:
  /// Makes the file, which must not be there. Throws an Error with the path, as
  /// all of these do.
  explicit HashedFile(const std::string &path);
  void write(const void *data, size_t size);
  /// Brings it to the disk. `name`: what the manifest calls it.
  CheckpointFile finish(const std::string &name);

private:
  std::string path;
  Descriptor file;
  BlockHasher hasher;
  uint64_t bytes = 0;
};

} // namespace shardc::runtime

#endif
