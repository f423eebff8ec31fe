// One run writes to a folder of checkpoints at a time.
#ifndef SHARDC_RUNTIME_CHECKPOINT_FOLDERLOCK_H
#define SHARDC_RUNTIME_CHECKPOINT_FOLDERLOCK_H

#include "runtime/files/Descriptor.h"

#include <string>

namespace shardc::runtime {

/// The file FOLDER/.lock, locked (flock) as long as this lives; it says which
/// process that is, and of which host. The kernel unlocks it where the process
/// ends in another way.
class FolderLock {
public:
  /// The folder must be there. Throws an Error with what the file says where
  /// another process has locked it. A file system without locks locks nothing.
  explicit FolderLock(const std::string &folder);
  /// Removes the file.
  ~FolderLock();

private:
  std::string path;
  Descriptor file;
};

} // namespace shardc::runtime

#endif
