// Indices of Megatron's. The file of ids beside them is the same for all.
#include "test/fuzz/readers/Samples.h"

#include <fstream>

using namespace shardc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::SampleFile index("a.idx");
  static const bool hasIds =
      bool(std::ofstream(index.folder / "a.bin") << std::string(64, '\1'));
  fuzz::require(hasIds);
  index.hold(fuzz::bytesOf(data, size));
  fuzz::readSamplesInEveryWay(index.path(), 64);
  return 0;
}
