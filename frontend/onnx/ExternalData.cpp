// openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; component by
// component on kernels before 5.6.
#include "frontend/onnx/ExternalData.h"
#include "frontend/files/RegularFile.h"
#include "frontend/onnx/ModelFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"

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

int openBeneath(int folder, const std::string &location,
                llvm::ArrayRef<StringRef> components) {
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  int descriptor =
      syscall(SYS_openat2, folder, location.c_str(), &how, sizeof(how));
  // Sandboxes without openat2 answer EPERM.
  if (descriptor < 0 && (errno == ENOSYS || errno == EPERM))
    return openByComponents(folder, components);
  return descriptor;
}

} // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
mapBeneath(StringRef folder, StringRef location) {
  llvm::SmallVector<StringRef> components;
  location.split(components, '/', -1, /*KeepEmpty=*/false);
  if (location.empty() || location.contains('\0') || components.empty())
    return makeError("external data has no file name");
  if (location.starts_with("/") || llvm::is_contained(components, ".."))
    return makeError(
        "external data file '" + location +
        "' lies outside of the model's folder; only files in it are read");

  std::string folderName = folder.empty() ? "." : folder.str();
  int directory = open(folderName.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return makeError("cannot open folder '" + folderName +
                     "': " + std::strerror(errno));
  int descriptor = openBeneath(directory, location.str(), components);
  int failure = errno;
  close(directory);
  if (descriptor < 0) {
    if (failure == ENOENT)
      return nullptr;
    if (failure == ELOOP || failure == EXDEV)
      return makeError("external data file '" + location +
                       "' is or passes through a symbolic link; only files in "
                       "the model's folder are read");
    return makeError("cannot open external data file '" + location +
                     "': " + std::strerror(failure));
  }
  auto buffer = mapRegularFile(descriptor, location);
  close(descriptor);
  if (!buffer)
    return makeError("cannot read external data file '" + location +
                     "': " + llvm::toString(buffer.takeError()));
  return std::move(*buffer);
}

} // namespace shardc::onnx
