// The one file that xxHash is compiled into here.
#include "runtime/base/Hash.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardc::runtime {

uint64_t hashOf(const void *data, size_t size) {
  return XXH3_64bits(data, size);
}

std::string hashText(uint64_t hash) {
  std::string text(16, '0');
  for (size_t i = text.size(); i-- > 0; hash >>= 4)
    text[i] = "0123456789abcdef"[hash & 15];
  return text;
}

struct BlockHasher::State {
  XXH3_state_t of;
};

BlockHasher::BlockHasher(uint64_t blockBytes)
    : state(std::make_unique<State>()), blockBytes(blockBytes) {
  XXH3_64bits_reset(&state->of);
}
BlockHasher::~BlockHasher() = default;

void BlockHasher::add(const void *data, size_t size) {
  auto *bytes = static_cast<const std::byte *>(data);
  while (size > 0) {
    size_t part = std::min<uint64_t>(size, blockBytes - inBlock);
    XXH3_64bits_update(&state->of, bytes, part);
    bytes += part, size -= part, inBlock += part;
    if (inBlock == blockBytes) {
      blocks.push_back(XXH3_64bits_digest(&state->of));
      XXH3_64bits_reset(&state->of);
      inBlock = 0;
    }
  }
}

std::vector<uint64_t> BlockHasher::finish() {
  if (inBlock > 0)
    blocks.push_back(XXH3_64bits_digest(&state->of));
  return std::move(blocks);
}

} // namespace shardc::runtime
