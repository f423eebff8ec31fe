// A new file, much at once, that nobody will read soon: its bytes go to the
// disk past the page cache, which costs the processor a copy and half the time.
#ifndef SHARDC_RUNTIME_FILES_DIRECTFILE_H
#define SHARDC_RUNTIME_FILES_DIRECTFILE_H

#include "runtime/base/Memory.h"
#include "runtime/files/Descriptor.h"

#include <string>

namespace shardc::runtime {

/// Writes directly where the file system says how that must be aligned (statx's
/// STATX_DIOALIGN, Linux 6.1: ext4, XFS, f2fs, btrfs): those of a network do
/// not, and are faster through the page cache.
class DirectFile {
public:
  /// Makes the file, which must not be there. Throws an Error with the path, as
  /// all of these do.
  explicit DirectFile(const std::string &path);
  /// Whole buffers are on their way to the disk when it returns.
  void write(const void *data, size_t size);
  /// Writes what is left, and returns when all is on the disk.
  void finish();

  uint64_t size() const { return written + filled; }
  bool isDirect() const { return alignment != 0; }

private:
  void writeBuffer(size_t size);
  void throughCache();

  std::string path;
  Descriptor file;
  /// What sizes and offsets of direct writes are multiples of; 0: the file is
  /// written through the page cache.
  size_t alignment = 0;
  Memory buffer;
  size_t filled = 0;
  uint64_t written = 0;
};

} // namespace shardc::runtime

#endif
