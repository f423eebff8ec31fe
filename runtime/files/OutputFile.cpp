// A file that exists whole or not at all.
#include "runtime/files/OutputFile.h"

#include "runtime/base/Error.h"
#include "runtime/files/ConfinedOpen.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace shardc::runtime {

OutputFile::OutputFile(std::string path, bool nameless)
    : target(std::move(path)) {
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
  if (nameless)
    openNameless();
  if (!file)
    openNamed();
}

static std::string linkOf(const Descriptor &file) {
  return concat("/proc/self/fd/", file.get());
}

void OutputFile::openNameless() {
  // Readable, so that it can be copied where it gets no name after all.
  file = Descriptor(::open(folderOf(destination).c_str(),
                           O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  // Names are given through /proc.
  if (file && access(linkOf(file).c_str(), F_OK) != 0)
    file.close();
}

void OutputFile::openNamed() {
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

void OutputFile::overwrite(uint64_t offset, const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t some = pwrite(file.get(), static_cast<const char *>(data) + done,
                          size - done, static_cast<off_t>(offset + done));
    if (some < 0 && errno != EINTR)
      failErrno("cannot write ", target);
    done += some > 0 ? static_cast<size_t>(some) : 0;
  }
}

/// A link cannot take the place of a file, a renamed one can: where there is
/// one, there are two names for a moment.
void OutputFile::giveName() {
  std::string link = linkOf(file);
  auto name = [&](const std::string &path) {
    return linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  };
  if (name(destination))
    return;
  for (int number = 0; errno == EEXIST; ++number) {
    std::string path = concat(destination, ".", getpid(), "-", number, ".tmp");
    if (name(path)) {
      temporary = path;
      return;
    }
  }
  // A file system that makes such files and does not name them.
  Descriptor whole = std::move(file);
  openNamed();
  std::vector<char> chunk(1 << 20);
  for (uint64_t at = 0; at < written; at += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), written - at));
    whole.readAt(at, chunk.data(), chunk.size(), target);
    file.write(chunk.data(), chunk.size(), target);
  }
  if (fsync(file.get()) != 0)
    failErrno("cannot write ", target);
}

void OutputFile::commit(Sync sync) {
  if (sync == Sync::Yes && fsync(file.get()) != 0)
    failErrno("cannot write ", target);
  if (temporary.empty())
    giveName();
  file.close();
  if (!temporary.empty() && rename(temporary.c_str(), destination.c_str()) != 0)
    failErrno("cannot write ", target);
  temporary.clear();
  if (sync == Sync::No)
    return;
  // The new name is on disk once the folder is.
  Descriptor folder(::open(folderOf(destination).c_str(),
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder)
    fsync(folder.get());
}

} // namespace shardc::runtime
