// Whole blocks go directly; what is no whole block is read, changed and written.
#include "runtime/files/OffloadFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace shardc::runtime {

/// What direct accesses are multiples of where nobody says it: no disk has
/// larger blocks.
static constexpr int64_t usualBlock = 4096;

/// Opens a file of the folder that no path leads to.
static Descriptor openNameless(const std::string &folder,
                               const std::string &name) {
  int fd =
      ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0)
    return Descriptor(fd);
  // File systems of networks have none.
  if (errno != EOPNOTSUPP && errno != EISDIR)
    failErrno("cannot write ", name);
  std::string path = folder + "/shardc-offload-XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file || ::unlink(path.c_str()) != 0)
    failErrno("cannot write ", name);
  return file;
}

OffloadFile::OffloadFile(const std::string &folder, int64_t bytes)
    : name("the file in --offload-dir " + folder),
      size((bytes + usualBlock - 1) / usualBlock * usualBlock),
      file(openNameless(folder, name)) {
  // A disk that is full says so before the first step, and is not filled to find
  // that out.
  struct statvfs disk = {};
  if (::fstatvfs(file.get(), &disk) != 0)
    failErrno("cannot write ", name);
  if (auto room = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
      room < size)
    fail("--offload-dir ", folder, " has ", bytesText(double(room)), " of the ",
         bytesText(double(size)),
         " that a rank needs there; name a folder on a larger disk");
  if (size > 0 && ::fallocate(file.get(), 0, 0, size) != 0 &&
      (errno != EOPNOTSUPP || ::ftruncate(file.get(), size) != 0))
    failErrno("cannot take ", size, " bytes for ", name);
  buffer = Memory::allocate("transfers", bufferBytes, Memory::Use::Scratch);
  if (fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) | O_DIRECT) != 0)
    return;
  alignment = memoryAlignment = usualBlock;
#ifdef STATX_DIOALIGN
  struct statx status = {};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) && status.stx_dio_mem_align != 0 &&
      usualBlock % status.stx_dio_offset_align == 0) {
    alignment = status.stx_dio_offset_align;
    memoryAlignment = status.stx_dio_mem_align;
  }
#endif
}

void OffloadFile::throughCache() {
  if (fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_DIRECT) != 0)
    failErrno("cannot use ", name);
  alignment = memoryAlignment = 1;
}

void OffloadFile::requireWhole() const {
  auto has = static_cast<int64_t>(file.regularSize(name));
  if (has < size)
    fail(name, " was truncated while it was in use: it has ", has, " of ", size,
         " bytes");
}

bool OffloadFile::isAligned(int64_t begin, const void *memory,
                            int64_t bytes) const {
  return begin % alignment == 0 && bytes % alignment == 0 &&
         reinterpret_cast<uintptr_t>(memory) %
                 static_cast<uintptr_t>(memoryAlignment) ==
             0;
}

void OffloadFile::readBlocks(int64_t begin, std::byte *to, int64_t bytes) {
  while (bytes > 0) {
    ssize_t got = ::pread(file.get(), to, static_cast<size_t>(bytes), begin);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EINVAL && isDirect()) {
      throughCache();
      continue;
    }
    if (got < 0)
      failErrno("cannot read ", name);
    if (got == 0)
      fail(name, " was truncated while it was in use: it ends at byte ", begin);
    to += got, begin += got, bytes -= got;
  }
}

void OffloadFile::writeBlocks(int64_t begin, const std::byte *from,
                              int64_t bytes) {
  while (bytes > 0) {
    ssize_t put = ::pwrite(file.get(), from, static_cast<size_t>(bytes), begin);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0 && errno == EINVAL && isDirect()) {
      throughCache();
      continue;
    }
    if (put < 0)
      failErrno("cannot write ", name);
    from += put, begin += put, bytes -= put;
  }
}

template <typename Body>
void OffloadFile::forBuffers(int64_t begin, int64_t bytes, Body body) {
  int64_t end = begin + bytes;
  while (begin < end) {
    int64_t first = begin / alignment * alignment;
    int64_t until = std::min(end, first + bufferBytes);
    body(begin, until, first, (until + alignment - 1) / alignment * alignment);
    begin = until;
  }
}

void OffloadFile::read(int64_t begin, void *to, int64_t bytes) {
  std::lock_guard lock(mutex);
  requireWhole();
  if (isAligned(begin, to, bytes))
    return readBlocks(begin, static_cast<std::byte *>(to), bytes);
  auto *out = static_cast<std::byte *>(to);
  forBuffers(begin, bytes,
             [&](int64_t from, int64_t until, int64_t first, int64_t last) {
               readBlocks(first, buffer.data(), last - first);
               std::memcpy(out + (from - begin), buffer.data() + (from - first),
                           static_cast<size_t>(until - from));
             });
}

void OffloadFile::write(int64_t begin, const void *from, int64_t bytes) {
  std::lock_guard lock(mutex);
  requireWhole();
  if (isAligned(begin, from, bytes))
    return writeBlocks(begin, static_cast<const std::byte *>(from), bytes);
  auto *in = static_cast<const std::byte *>(from);
  forBuffers(begin, bytes,
             [&](int64_t at, int64_t until, int64_t first, int64_t last) {
               // Others have the rest of the first and of the last block.
               if (at != first)
                 readBlocks(first, buffer.data(), alignment);
               if (until != last && (at == first || last - first > alignment))
                 readBlocks(last - alignment,
                            buffer.data() + (last - alignment - first),
                            alignment);
               std::memcpy(buffer.data() + (at - first), in + (at - begin),
                           static_cast<size_t>(until - at));
               writeBlocks(first, buffer.data(), last - first);
             });
}

} // namespace shardc::runtime
