// A file that stands for memory: what a rank has no room for lies there while
// the process runs.
#ifndef SHARDC_RUNTIME_FILES_OFFLOADFILE_H
#define SHARDC_RUNTIME_FILES_OFFLOADFILE_H

#include "runtime/base/Memory.h"
#include "runtime/files/Descriptor.h"

#include <cstdint>
#include <mutex>
#include <string>

namespace shardc::runtime {

/// `bytes` of zeros without a name: the file ends with the process, however that
/// ends. Reads and writes go past the page cache, so that what is in memory is
/// what the plan says, except where the file system has no such way. Where a
/// transfer is not made of whole blocks, or its memory is not aligned, it goes
/// through a buffer of bufferBytes. Several threads may use it.
class OffloadFile {
public:
  static constexpr int64_t bufferBytes = 4 << 20;

  /// Takes the disk's space at once. Throws an Error that names the folder, as
  /// all of these do: one that is not there or cannot be written, a full disk.
  OffloadFile(const std::string &folder, int64_t bytes);

  void read(int64_t begin, void *to, int64_t bytes);
  void write(int64_t begin, const void *from, int64_t bytes);

  bool isDirect() const { return alignment != 1; }
  int descriptor() const { return file.get(); }

private:
  /// Throws where somebody has truncated the file: what was written behind its
  /// end would read as zeros.
  void requireWhole() const;
  bool isAligned(int64_t begin, const void *memory, int64_t bytes) const;
  void readBlocks(int64_t begin, std::byte *to, int64_t bytes);
  void writeBlocks(int64_t begin, const std::byte *from, int64_t bytes);
  void throughCache();
  /// Calls body(begin, end, first, last) for blocks [first, last) of the file,
  /// of which [begin, end) are asked for.
  template <typename Body>
  void forBuffers(int64_t begin, int64_t bytes, Body body);

  std::string name; // for errors
  int64_t size;     // whole blocks
  Descriptor file;
  int64_t alignment = 1; // of offsets and sizes; 1: through the page cache
  int64_t memoryAlignment = 1;
  std::mutex mutex;
  Memory buffer;
};

} // namespace shardc::runtime

#endif
