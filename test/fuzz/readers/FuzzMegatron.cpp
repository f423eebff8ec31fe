// Indices of Megatron's. The file of ids beside them is the same for all.
#include "test/fuzz/readers/Samples.h"

#include <filesystem>
#include <fstream>

using namespace shardc;

namespace {

/// A folder with a.bin, of 64 bytes, and a.idx, which leads to the input.
class Pair {
public:
  Pair() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "shardc-fuzz-XXXXXX")
            .string();
    root = mkdtemp(pattern.data());
    std::ofstream(root / "a.bin") << std::string(64, '\1');
    std::filesystem::create_symlink(index.path(), root / "a.idx");
  }
  ~Pair() { std::filesystem::remove_all(root); }

  fuzz::MemoryFile index;
  std::filesystem::path root;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Pair pair;
  pair.index.hold(fuzz::bytesOf(data, size));
  fuzz::readSamplesInEveryWay((pair.root / "a.idx").string(), 64);
  return 0;
}
