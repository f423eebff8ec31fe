// XXH3-64 (https://github.com/Cyan4973/xxHash), for damage by accident.
#ifndef SHARDC_RUNTIME_BASE_HASH_H
#define SHARDC_RUNTIME_BASE_HASH_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

uint64_t hashOf(const void *data, size_t size);
/// 16 hexadecimal digits.
std::string hashText(uint64_t hash);

/// Hashes of the blocks of a file that is written or read from its begin on.
class BlockHasher {
public:
  explicit BlockHasher(uint64_t blockBytes);
  ~BlockHasher();
  void add(const void *data, size_t size);
  /// Of all blocks; the last may be shorter. In the end.
  std::vector<uint64_t> finish();

private:
  struct State;
  std::unique_ptr<State> state;
  uint64_t blockBytes, inBlock = 0;
  std::vector<uint64_t> blocks;
};

} // namespace shardc::runtime

#endif
