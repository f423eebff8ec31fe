// Which file a path leads to, however the path is spelt.
#include "runtime/files/FileIdentity.h"

#include <filesystem>
#include <sys/stat.h>

namespace shardc::runtime {

namespace fs = std::filesystem;

/// What a path names once the links at its end are followed, also where the
/// last one leads to nothing yet.
static fs::path behindLinks(fs::path path) {
  constexpr int mostLinks = 40; // as the kernel
  std::error_code error;
  for (int i = 0; i < mostLinks && fs::is_symlink(path, error); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

FileIdentity::FileIdentity(const std::string &path) {
  fs::path at = path, rest;
  struct stat status;
  bool found = stat(at.c_str(), &status) == 0;
  if (!found)
    at = behindLinks(at);
  for (; !found; found = stat(at.empty() ? "." : at.c_str(), &status) == 0) {
    rest = at.filename() / rest;
    at = at.parent_path();
  }
  device = status.st_dev;
  inode = status.st_ino;
  beyond = rest.lexically_normal().string();
}

} // namespace shardc::runtime
