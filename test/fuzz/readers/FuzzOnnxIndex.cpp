// The trainer's reader of the initializers of an ONNX file.
#include "runtime/weights/OnnxIndex.h"
#include "test/fuzz/readers/Harness.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::read([&] {
    auto index = runtime::indexOnnx(fuzz::bytesOf(data, size), "x.onnx");
    for (const auto &[name, tensor] : index)
      fuzz::require(tensor.external || (tensor.offset <= size &&
                                        tensor.length <= size - tensor.offset));
  });
  return 0;
}
