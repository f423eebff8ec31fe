// Which file a path leads to, however the path is spelt.
#ifndef SHARDC_RUNTIME_FILES_FILEIDENTITY_H
#define SHARDC_RUNTIME_FILES_FILEIDENTITY_H

#include <string>
#include <sys/types.h>

namespace shardc::runtime {

/// Device and inode of the file, links followed. Where there is none yet, those
/// of the nearest folder that is there, and the names that lead on from it: two
/// paths that would make one file are equal before it is made.
class FileIdentity {
public:
  explicit FileIdentity(const std::string &path);
  bool operator==(const FileIdentity &) const = default;
  /// Whether there is a file.
  bool exists() const { return beyond.empty(); }

private:
  dev_t device = 0;
  ino_t inode = 0;
  std::string beyond; // empty: the file is there
};

} // namespace shardc::runtime

#endif
