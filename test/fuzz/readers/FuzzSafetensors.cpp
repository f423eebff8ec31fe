// The trainer's reader of safetensors headers.
#include "runtime/base/DType.h"
#include "runtime/files/Safetensors.h"
#include "test/fuzz/readers/Harness.h"

#include <algorithm>

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  file.hold(fuzz::bytesOf(data, size));
  fuzz::read([&] {
    auto tensors = runtime::readSafetensorsHeader(file.descriptor(), "x.st");
    // Together they are all that lies behind the header, and nothing twice.
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const auto &[name, tensor] : tensors) {
      ranges.emplace_back(tensor.offset, tensor.length);
      uint64_t bytes = runtime::elementSize(tensor.dtype);
      for (int64_t dim : tensor.shape)
        bytes *= uint64_t(dim);
      fuzz::require(tensor.dtype == plan::INVALID || bytes == tensor.length);
    }
    std::ranges::sort(ranges);
    uint64_t length = 0;
    std::copy_n(data, sizeof(length), reinterpret_cast<uint8_t *>(&length));
    uint64_t end = sizeof(length) + length;
    for (auto [begin, bytes] : ranges) {
      fuzz::require(begin == end);
      end += bytes;
    }
    fuzz::require(end == size);
  });
  return 0;
}
