// A file that is locked, and whose name may be another file's by then.
#include "runtime/checkpoint/FolderLock.h"

#include "runtime/base/Error.h"
#include "runtime/base/HostName.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

/// What another process has written there: its number and its host.
static std::string ownerOf(const Descriptor &file) {
  char text[256];
  ssize_t count = pread(file.get(), text, sizeof(text), 0);
  return std::string(text, size_t(std::max<ssize_t>(count, 0)));
}

FolderLock::FolderLock(const std::string &folder) : path(folder + "/.lock") {
  struct stat opened = {}, named = {};
  // Whoever had the lock removes the file: then this is another one.
  do {
    file = Descriptor(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file || fstat(file.get(), &opened) != 0)
      failErrno("cannot write ", path);
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      std::string owner = ownerOf(file);
      fail("--checkpoint-dir ", folder, ": another run writes its checkpoints ",
           "there", owner.empty() ? "" : concat(" (", owner, ")"),
           "; wait until it has ended, or choose another folder");
    }
  } while (stat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino ||
           named.st_dev != opened.st_dev);
  std::string owner = concat("process ", getpid(), " of ", hostName());
  // For people alone: where it cannot be written the lock holds as well.
  if (ftruncate(file.get(), 0) == 0)
    (void)!pwrite(file.get(), owner.data(), owner.size(), 0);
}

FolderLock::~FolderLock() { unlink(path.c_str()); }

} // namespace shardc::runtime
