// Whatever file --data is given: .npy, safetensors, Arrow, llm.c's and raw
// token ids.
#include "test/fuzz/readers/Samples.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::SampleFile file("input");
  file.hold(fuzz::bytesOf(data, size));
  // Raw tokens have no header by which they could be known.
  fuzz::readSamplesInEveryWay(
      file.path(), size,
      size % 4 == 3 ? std::optional(runtime::TokenType::UInt16) : std::nullopt);
  return 0;
}
