// The first and the last bytes, hashed.
#include "codegen/emit/StoredSample.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

namespace shardc {

uint64_t storedSample(llvm::StringRef model, llvm::StringRef file,
                      int64_t offset, int64_t length) {
  constexpr int64_t most = 4096;
  llvm::SmallString<256> path(model);
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, file);
  const int64_t count = std::min(length, most);
  std::string bytes;
  for (int64_t at : {offset, offset + length - count}) {
    auto part = llvm::MemoryBuffer::getFileSlice(path, count, at);
    if (!part || int64_t((*part)->getBufferSize()) != count)
      return 0;
    bytes += (*part)->getBuffer();
  }
  return llvm::xxh3_64bits(llvm::arrayRefFromStringRef(bytes));
}

} // namespace shardc
