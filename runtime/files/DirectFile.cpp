// A buffer of whole blocks, written when it is full; the file's end, which is no
// whole block, goes through the page cache.
#include "runtime/files/DirectFile.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

/// Bytes that are written at a time: a disk's full speed with one write after
/// the other.
static constexpr size_t bufferBytes = 4 << 20;

/// What direct writes from `buffer` must be multiples of; 0: there are none.
static size_t alignmentOf(const Descriptor &file, const std::byte *buffer) {
#ifdef STATX_DIOALIGN
  struct statx status = {};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0 ||
      !(status.stx_mask & STATX_DIOALIGN) || status.stx_dio_mem_align == 0)
    return 0;
  size_t offsets = status.stx_dio_offset_align;
  bool fits =
      reinterpret_cast<uintptr_t>(buffer) % status.stx_dio_mem_align == 0;
  return fits && offsets != 0 && bufferBytes % offsets == 0 ? offsets : 0;
#else
  return 0;
#endif
}

DirectFile::DirectFile(const std::string &path)
    : path(path), file(::open(path.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (!file)
    failErrno("cannot write ", path);
  buffer =
      Memory::allocate("writing a file", bufferBytes, Memory::Use::Scratch);
  alignment = alignmentOf(file, buffer.data());
  if (alignment &&
      fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) | O_DIRECT) != 0)
    alignment = 0;
}

void DirectFile::throughCache() {
  if (alignment &&
      fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_DIRECT) != 0)
    failErrno("cannot write ", path);
  alignment = 0;
}

void DirectFile::writeBuffer(size_t size) {
  uint64_t begin = written;
  for (size_t done = 0; done < size;) {
    ssize_t put = ::write(file.get(), buffer.data() + done, size - done);
    if (put >= 0)
      done += static_cast<size_t>(put);
    else if (errno == EINVAL && alignment)
      throughCache(); // after a write that was cut short within a block
    else if (errno != EINTR)
      failErrno("cannot write ", path);
  }
  written += size;
  filled = 0;
  // The disk begins now, not at the sync, which also finds its errors.
  if (!alignment)
    sync_file_range(file.get(), off64_t(begin), off64_t(size),
                    SYNC_FILE_RANGE_WRITE);
}

void DirectFile::write(const void *data, size_t size) {
  auto *from = static_cast<const std::byte *>(data);
  while (size > 0) {
    size_t part = std::min(size, bufferBytes - filled);
    std::memcpy(buffer.data() + filled, from, part);
    filled += part, from += part, size -= part;
    if (filled == bufferBytes)
      writeBuffer(filled);
  }
}

void DirectFile::finish() {
  size_t whole = alignment ? filled / alignment * alignment : filled;
  size_t rest = filled - whole;
  if (whole)
    writeBuffer(whole);
  if (rest) {
    throughCache();
    std::memmove(buffer.data(), buffer.data() + whole, rest);
    writeBuffer(rest);
  }
  if (fsync(file.get()) != 0)
    failErrno("cannot write ", path);
  file.close();
}

} // namespace shardc::runtime
