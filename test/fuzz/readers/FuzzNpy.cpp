// The trainer's reader of .npy files.
#include "runtime/base/DType.h"
#include "runtime/data/Npy.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::read([&] {
    runtime::StoredArray header =
        runtime::parseNpyHeader(fuzz::bytesOf(data, size), size, "x.npy");
    // What is read later lies in the file.
    uint64_t bytes = runtime::elementSize(header.dtype);
    for (int64_t dim : header.shape)
      bytes *= uint64_t(dim);
    fuzz::require(!header.shape.empty() && header.dataOffset <= size &&
                  bytes <= size - header.dataOffset);
  });
  return 0;
}
