// Files that another file names, which must lie where that one does.
#include "runtime/files/ConfinedOpen.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <unistd.h>
#include <vector>

namespace shardc::runtime {

namespace fs = std::filesystem;
using Outcome = ConfinedFile::Outcome;

/// Opens `relative` below `folder`, one component at a time, none of them a
/// link: the kernel's RESOLVE_BENEATH does the same, where it exists. None,
/// with errno, where that fails: ELOOP or ENOTDIR for a link.
static Descriptor openBeneath(const std::string &folder,
                              const fs::path &relative) {
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (auto part = relative.begin(); at && part != relative.end(); ++part) {
    bool last = std::next(part) == relative.end();
    if ((part->empty() || *part == ".") && !last)
      continue;
    int flags =
        O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    Descriptor next(openat(at.get(), part->c_str(), flags));
    int failure = errno; // which closing `at` may change
    at = std::move(next);
    errno = failure;
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

/// `failed` with errno, where there is no file.
static ConfinedFile opened(Descriptor file) {
  if (!file)
    return {Outcome::failed, {}, {}, errno};
  return {Outcome::opened, std::move(file), {}};
}

/// The file behind the links of `relative`. What they lead to is opened without
/// any link: nobody can put one in its way meanwhile.
static ConfinedFile openBehindLinks(const std::string &owner,
                                    const fs::path &relative) {
  std::error_code error;
  fs::path target = fs::canonical(folderOf(owner) / relative, error);
  if (error)
    return {Outcome::failed, {}, {}, error.value()};
  for (const fs::path &allowed : allowedFolders(owner)) {
    fs::path below = target.lexically_relative(allowed);
    if (!below.empty() && *below.begin() != "..")
      return opened(openBeneath(allowed, below));
  }
  return {Outcome::linkOutside, {}, target.string()};
}

ConfinedFile openBeside(const std::string &owner, const std::string &relative) {
  fs::path path = relative;
  // The system would read a path up to its first zero.
  if (path.empty() || path.is_absolute() ||
      relative.find('\0') != std::string::npos ||
      std::find(path.begin(), path.end(), "..") != path.end())
    return {Outcome::outside, {}, {}};
  ConfinedFile direct = opened(openBeneath(folderOf(owner), path));
  if (direct.error == ELOOP || direct.error == ENOTDIR)
    return openBehindLinks(owner, path);
  return direct;
}

Descriptor openConfined(const std::string &owner, const std::string &relative) {
  std::string folder = folderOf(owner), name = folder + "/" + relative;
  ConfinedFile found = openBeside(owner, relative);
  switch (found.outcome) {
  case Outcome::opened:
    found.file.regularSize(name);
    return std::move(found.file);
  case Outcome::outside:
    fail("external data '", relative,
         "' is not a path inside the model's folder");
  case Outcome::linkOutside:
    fail("external data '", relative, "' leads through a symbolic link to ",
         found.target, ", outside of the model's folder ", folder,
         "; copy it there");
  case Outcome::failed:
    break;
  }
  errno = found.error;
  failErrno("cannot open ", name);
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace shardc::runtime
