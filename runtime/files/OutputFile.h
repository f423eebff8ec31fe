// A file that exists whole or not at all: written without a name, synced, then
// named. What has no name goes with the process, however that ends. Where the
// file system has no such files, under a temporary name in the same folder.
#ifndef SHARDC_RUNTIME_FILES_OUTPUTFILE_H
#define SHARDC_RUNTIME_FILES_OUTPUTFILE_H

#include "runtime/files/Descriptor.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardc::runtime {

class OutputFile {
public:
  /// Creates the temporary file, so that a folder that cannot be written to is
  /// found before any work is done. What lies at `path` stays until commit().
  /// Throws an Error with the path.
  /// `nameless`: false takes the way of those other file systems.
  explicit OutputFile(std::string path, bool nameless = true);
  OutputFile(OutputFile &&) = delete;
  /// Removes the temporary file, unless it was committed.
  ~OutputFile();

  const std::string &path() const { return target; }
  uint64_t size() const { return written; }

  /// Throws when the folder's file system has not `bytes` left.
  void checkSpace(uint64_t bytes) const;
  void write(const void *data, size_t size);
  /// Replaces bytes that were written: a header that is known at the end.
  void overwrite(uint64_t offset, const void *data, size_t size);
  /// Puts it in the place of what lies at the path. Without a sync it may be
  /// lost or empty after the machine has crashed.
  enum class Sync { Yes, No };
  void commit(Sync sync = Sync::Yes);

private:
  void openNameless();
  void openNamed();
  void giveName();

  std::string target;      // as given
  std::string destination; // without links
  std::string temporary;   // the name that it has until commit(); empty: none
  Descriptor file;
  uint64_t written = 0;
};

} // namespace shardc::runtime

#endif
