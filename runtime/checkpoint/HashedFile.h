// A file that is hashed as it is written.
#ifndef SHARDC_RUNTIME_CHECKPOINT_HASHEDFILE_H
#define SHARDC_RUNTIME_CHECKPOINT_HASHEDFILE_H

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/files/DirectFile.h"

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
  DirectFile file;
  BlockHasher hasher;
};

} // namespace shardc::runtime

#endif
