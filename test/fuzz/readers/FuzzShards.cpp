// Tensors that PyTorch's distributed checkpoints have cut over files: the
// headers of two, and the tensors that are put together from them. The input
// begins with the length of the first, in two bytes.
#include "runtime/base/DType.h"
#include "runtime/weights/StoredTensors.h"
#include "test/fuzz/readers/Harness.h"

#include <algorithm>
#include <vector>

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile files[2];
  if (size < 2)
    return 0;
  auto bytes = fuzz::bytesOf(data, size).subspan(2);
  size_t first = std::min<size_t>(data[0] | data[1] << 8, bytes.size());
  files[0].hold(bytes.first(first));
  files[1].hold(bytes.subspan(first));
  for (bool both : {false, true})
    fuzz::read([&] {
      std::vector<std::string> paths{files[0].path()};
      if (both)
        paths.push_back(files[1].path());
      runtime::StoredTensors tensors(paths);
      for (const std::string &key : tensors.keys()) {
        int64_t elements = 1;
        for (int64_t dim : tensors.shapeOf(key)) {
          fuzz::require(dim > 0);
          elements *= dim;
        }
        fuzz::require(elements > 0 && uint64_t(elements) <= size);
        std::vector<std::byte> values(elements * sizeof(double));
        tensors.read(key, 0, elements, tensors.dtypeOf(key), values.data());
        tensors.read(key, elements - 1, elements, plan::FLOAT64, values.data());
      }
    });
  return 0;
}
