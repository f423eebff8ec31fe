// The compiler's opening of ONNX files: what is found before the graph is
// looked at.
#include "frontend/onnx/file/ModelFile.h"
#include "test/fuzz/readers/MemoryPath.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = shardc::onnx::ModelFile::open(fuzz::memoryPath(data, size),
                                            /*allowMissingWeights=*/true);
  if (!file) {
    if (llvm::toString(file.takeError()).empty())
      std::abort();
    return 0;
  }
  for (const shardc::onnx::Initializer &initializer : (*file)->initializers()) {
    (*file)->isUniform(initializer);
    for (const shardc::onnx::Initializer &other : (*file)->initializers())
      (*file)->sameValues(initializer, other, /*transposed=*/true);
    if (auto bytes = (*file)->read(initializer, 1 << 20)) {
      if (int64_t(bytes->size()) !=
          initializer.elements * shardc::onnx::elementBytes(initializer.dtype))
        std::abort();
    } else {
      llvm::consumeError(bytes.takeError());
    }
  }
  return 0;
}
