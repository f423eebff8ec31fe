// Files that another file names, which must lie where that one does.
#include "runtime/files/ConfinedOpen.h"

#include "runtime/base/Error.h"

#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <unistd.h>
#include <vector>

namespace shardc::runtime {

namespace fs = std::filesystem;

[[noreturn]] static void failLeaves(const fs::path &relative) {
  fail("external data '", relative.string(), "' leaves the model's folder");
}

/// Opens `relative` below `folder`, one component at a time, none of them a
/// link: the kernel's RESOLVE_BENEATH does the same, where it exists. None,
/// with errno, where that fails: ELOOP or ENOTDIR for a link.
static Descriptor openBeneath(const std::string &folder,
                              const fs::path &relative) {
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at)
    failErrno("cannot open ", folder);
  for (auto part = relative.begin(); part != relative.end(); ++part) {
    bool last = std::next(part) == relative.end();
    if (*part == "..")
      failLeaves(relative);
    if ((part->empty() || *part == ".") && !last)
      continue;
    int flags =
        O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    Descriptor next(openat(at.get(), part->c_str(), flags));
    if (!next)
      return next;
    at = std::move(next);
  }
  return at;
}

/// The folders below which a link that `owner` leads through may end.
static std::vector<fs::path> allowedFolders(const std::string &owner) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::path folder = fs::canonical(folderOf(owner), error);
  if (!error)
    folders.push_back(folder);
  fs::path itself = fs::canonical(owner, error);
  if (!error)
    folders.push_back(itself.parent_path());
  // .../snapshots/REVISION, or a folder in it.
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path())
    if (at.parent_path().filename() == "snapshots")
      folders.push_back(at.parent_path().parent_path() / "blobs");
  return folders;
}

/// The file behind the links of `relative`. What they lead to is opened without
/// any link: nobody can put one in its way meanwhile.
static Descriptor openBehindLinks(const std::string &owner,
                                  const fs::path &relative) {
  fs::path folder = folderOf(owner);
  for (const fs::path &part : relative)
    if (part == "..")
      failLeaves(relative);
  std::error_code error;
  fs::path target = fs::canonical(folder / relative, error);
  if (error)
    fail("cannot open ", (folder / relative).string(), ": ", error.message());
  for (const fs::path &allowed : allowedFolders(owner)) {
    fs::path below = target.lexically_relative(allowed);
    if (!below.empty() && *below.begin() != "..")
      return openBeneath(allowed, below);
  }
  fail("external data '", relative.string(),
       "' leads through a symbolic link to ", target.string(),
       ", outside of the model's folder ", folder.string(), "; copy it there");
}

Descriptor openConfined(const std::string &owner, const std::string &relative) {
  std::string folder = folderOf(owner), name = folder + "/" + relative;
  if (relative.empty() || relative.front() == '/')
    fail("external data '", relative,
         "' is not a path inside the model's folder");
  Descriptor file = openBeneath(folder, relative);
  if (!file && (errno == ELOOP || errno == ENOTDIR))
    file = openBehindLinks(owner, relative);
  if (!file)
    failErrno("cannot open ", name);
  file.regularSize(name);
  return file;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace shardc::runtime
