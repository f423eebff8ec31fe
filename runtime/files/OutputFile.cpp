// A file that exists whole or not at all.
#include "runtime/files/OutputFile.h"

#include "runtime/Error.h"
#include "runtime/files/ConfinedOpen.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

OutputFile::OutputFile(std::string path) : target(std::move(path)) {
  struct stat status;
  if (stat(target.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode))
      fail("cannot write ", target, ": it is not a regular file");
    if (access(target.c_str(), W_OK) != 0)
      failErrno("cannot write ", target);
  }
  // Behind a link, the file that it leads to is replaced, not the link.
  destination = target;
  if (char *resolved = realpath(target.c_str(), nullptr)) {
    destination = resolved;
    free(resolved);
  }
  temporary = destination + ".XXXXXX.tmp";
  file = Descriptor(mkostemps(temporary.data(), 4, O_CLOEXEC));
  if (!file) {
    int code = errno;
    temporary.clear();
    errno = code;
    failErrno("cannot write ", target);
  }
  // mkostemps makes files that only their owner reads.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(file.get(), 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void OutputFile::checkSpace(uint64_t bytes) const {
  struct statvfs status;
  if (fstatvfs(file.get(), &status) != 0 || status.f_blocks == 0)
    return; // a file system that does not say
  uint64_t left = uint64_t(status.f_bavail) * status.f_frsize;
  if (left < bytes)
    fail("cannot write ", target, ": it will take ", bytes, " bytes, and ",
         left, " are left on its file system");
}

void OutputFile::write(const void *data, size_t size) {
  file.write(data, size, target);
  written += size;
}

void OutputFile::commit() {
  if (fsync(file.get()) != 0)
    failErrno("cannot write ", target);
  file.close();
  if (rename(temporary.c_str(), destination.c_str()) != 0)
    failErrno("cannot write ", target);
  temporary.clear();
  // The new name is on disk once the folder is.
  Descriptor folder(::open(folderOf(destination).c_str(),
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder)
    fsync(folder.get());
}

} // namespace shardc::runtime
