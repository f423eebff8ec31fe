// Whatever file --data is given: .npy, safetensors, Arrow, llm.c's and raw
// token ids.
#include "test/fuzz/readers/Samples.h"

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  file.hold(fuzz::bytesOf(data, size));
  fuzz::readSamplesInEveryWay(file.path(), size);
  fuzz::readSamplesInEveryWay(file.path(), size, runtime::TokenType::UInt16);
  return 0;
}
