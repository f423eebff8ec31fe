// Files that a model file names, which must lie in the model's folder.
#include "runtime/files/ConfinedOpen.h"

#include "runtime/Error.h"

#include <fcntl.h>
#include <unistd.h>

namespace shardc::runtime {

Descriptor openConfined(const std::string &folder,
                        const std::string &relative) {
  std::string name = folder + "/" + relative;
  if (relative.empty() || relative.front() == '/')
    fail("external data '", relative,
         "' is not a path inside the model's folder");
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at)
    failErrno("cannot open ", folder);
  // One component at a time, none of them a link: the kernel's RESOLVE_BENEATH
  // does the same, where it exists.
  for (size_t begin = 0; begin <= relative.size();) {
    size_t end = std::min(relative.find('/', begin), relative.size());
    std::string part = relative.substr(begin, end - begin);
    bool last = end == relative.size();
    if (part == "..")
      fail("external data '", relative, "' leaves the model's folder");
    if ((part.empty() || part == ".") && !last) {
      begin = end + 1;
      continue;
    }
    int flags =
        O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    Descriptor next(openat(at.get(), part.c_str(), flags));
    if (!next && (errno == ELOOP || errno == ENOTDIR))
      fail("external data '", relative, "' leads through a symbolic link");
    if (!next)
      failErrno("cannot open ", name);
    at = std::move(next);
    begin = end + 1;
  }
  at.regularSize(name);
  return at;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace shardc::runtime
