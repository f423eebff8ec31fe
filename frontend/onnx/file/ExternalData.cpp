// openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; component by
// component on kernels before 5.6. Where links lead is found out before, and
// opened in the same way.
#include "frontend/onnx/file/ExternalData.h"
#include "frontend/files/RegularFile.h"
#include "frontend/onnx/file/ModelFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

using llvm::StringRef;

namespace shardc::onnx {
namespace {

// Where openat2 does not exist, every component is opened relative to the one
// before without following links.
int openByComponents(int folder, llvm::ArrayRef<StringRef> components) {
  int current = dup(folder);
  for (auto [index, component] : llvm::enumerate(components)) {
    if (current < 0)
      return -1;
    bool last = index + 1 == components.size();
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                (last ? 0 : O_DIRECTORY);
    int next = openat(current, component.str().c_str(), flags);
    int saved = errno;
    close(current);
    errno = saved;
    current = next;
  }
  return current;
}

/// Opens `location` below `folder`; no part of it may be a link.
int openBeneath(const std::string &folder, StringRef location) {
  int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return -1;
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  int descriptor = syscall(SYS_openat2, directory, location.str().c_str(), &how,
                           sizeof(how));
  // Sandboxes without openat2 answer EPERM.
  if (descriptor < 0 && (errno == ENOSYS || errno == EPERM)) {
    llvm::SmallVector<StringRef> components;
    location.split(components, '/', -1, /*KeepEmpty=*/false);
    descriptor = openByComponents(directory, components);
  }
  int saved = errno;
  close(directory);
  errno = saved;
  return descriptor;
}

/// Without links; empty where there is no such file.
std::string realPath(const llvm::Twine &path) {
  llvm::SmallString<256> real;
  if (llvm::sys::fs::real_path(path, real))
    return "";
  return real.str().str();
}

/// The folders below which a link beside `model` may end.
llvm::SmallVector<std::string> allowedFolders(StringRef model,
                                              StringRef folder) {
  namespace path = llvm::sys::path;
  std::string real = realPath(folder);
  llvm::SmallVector<std::string> folders = {
      real, path::parent_path(realPath(model)).str()};
  for (StringRef at = real; path::has_parent_path(at);
       at = path::parent_path(at))
    if (path::filename(path::parent_path(at)) == "snapshots") {
      llvm::SmallString<256> blobs(path::parent_path(path::parent_path(at)));
      path::append(blobs, "blobs");
      folders.push_back(blobs.str().str());
    }
  return folders;
}

/// What `target`, a real path, is below `folder`; empty: it is not there.
StringRef below(StringRef target, StringRef folder) {
  if (folder.empty() || !target.consume_front(folder))
    return "";
  if (folder.ends_with("/"))
    return target;
  return target.consume_front("/") ? target : "";
}

} // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapBeside(StringRef model, StringRef location) {
  llvm::SmallVector<StringRef> components;
  location.split(components, '/', -1, /*KeepEmpty=*/false);
  if (location.empty() || location.contains('\0') || components.empty())
    return llvm::createStringError("external data has no file name");
  if (location.starts_with("/") || llvm::is_contained(components, ".."))
    return llvm::createStringError(
        "external data file '" + location +
        "' lies outside of the model's folder; only files in it are read");

  std::string folder = llvm::sys::path::parent_path(model).str();
  if (folder.empty())
    folder = ".";
  if (!llvm::sys::fs::is_directory(folder))
    return llvm::createStringError("cannot open folder '" + folder +
                                   "': " + std::strerror(errno));
  int descriptor = openBeneath(folder, location);
  if (descriptor < 0 &&
      (errno == ELOOP || errno == EXDEV || errno == ENOTDIR)) {
    // What the links lead to is opened without any: nobody can put one in its
    // way meanwhile.
    std::string target = realPath(folder + "/" + location);
    if (target.empty())
      return nullptr;
    llvm::SmallVector<std::string> allowed = allowedFolders(model, folder);
    auto *place = llvm::find_if(
        allowed, [&](StringRef each) { return !below(target, each).empty(); });
    if (place == allowed.end())
      return llvm::createStringError(
          "external data file '" + location +
          "' leads through a symbolic link to '" + target +
          "', outside of the model's folder; copy it there");
    descriptor = openBeneath(*place, below(target, *place));
  }
  int failure = errno;
  if (descriptor < 0) {
    if (failure == ENOENT)
      return nullptr;
    return llvm::createStringError("cannot open external data file '" +
                                   location + "': " + std::strerror(failure));
  }
  auto buffer = mapRegularFile(descriptor, location);
  close(descriptor);
  if (!buffer)
    return llvm::createStringError("cannot read external data file '" +
                                   location +
                                   "': " + llvm::toString(buffer.takeError()));
  return std::move(*buffer);
}

} // namespace shardc::onnx
