// The container of a trainer: what follows the runtime's own bytes in the one
// file. Shared by the compiler, which writes it, and the runtime, which reads
// itself.
//
//   [runtime executable][section]...[section table][footer]
//
// The runtime is a section too, so that all bytes that matter have a checksum.
// A reader takes the last sizeof(Footer) bytes of the file, checks `magic` and
// `version`, then reads `sections` entries of `Section` at `tableOffset`.
// Sections begin at multiples of `alignment`, so that a mapped kernel library
// or weight section is page-aligned; the bytes between are zero. All integers
// are little-endian.
#ifndef SHARDC_RUNTIME_CONTAINER_H
#define SHARDC_RUNTIME_CONTAINER_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardc::container {

constexpr char magic[8] = {'S', 'H', 'A', 'R', 'D', 'C', '\n', '\x1a'};
constexpr uint32_t version = 3;
constexpr uint64_t alignment = 4096;

/// What a section holds. A trainer has a plan and kernels for each of its
/// targets, and of what is said of no target one for all of them.
enum SectionKind : uint32_t {
  sectionPlan = 1,           // serialized shardc.plan.Plan
  sectionKernels = 2,        // the plan's kernels: for the CPU a shared object,
                             // for CUDA a serialized shardc.plan.CudaKernels
  sectionExportTemplate = 3, // ONNX ModelProto without initializers' values
  sectionWeights = 4,        // stored parameters; plan Source.embedded
  sectionRuntime = 5,        // the executable, at the file's first byte
  sectionCertificate = 6,    // serialized shardc.plan.Certificate
  // Of shardc --checkable, for each target: the same model's plan of one rank,
  // and its kernels.
  sectionUnshardedPlan = 7,
  sectionUnshardedKernels = 8,
};

struct Section {
  uint32_t kind;
  uint32_t target; // of plans and their kernels: 0, 1 and so on; else 0
  uint64_t offset; // bytes from the file's first byte
  uint64_t length; // bytes
  uint64_t checksum;
};
static_assert(sizeof(Section) == 32);

struct Footer {
  uint64_t tableOffset;
  uint64_t tableChecksum;
  uint32_t sections;
  uint32_t version;
  char magic[8];
};
static_assert(sizeof(Footer) == 32);

/// Finds truncation, splices and flipped bits, not malice: XXH3-64 of the
/// XXH3-64 of each block of `checksumBlock` bytes, the last one shorter, and of
/// the length. Blocks are apart so that several threads can check a large
/// section.
constexpr uint64_t checksumBlock = 1 << 20;

/// The checksum whose blocks have the hashes `blocks`.
inline uint64_t combineBlocks(const std::vector<uint64_t> &blocks,
                              uint64_t length) {
  return XXH3_64bits_withSeed(blocks.data(), blocks.size() * sizeof(uint64_t),
                              length);
}

/// Takes the bytes in chunks of any size.
class Checksum {
public:
  void update(const void *data, size_t size) {
    const char *bytes = static_cast<const char *>(data);
    while (size) {
      if (inBlock == 0)
        XXH3_64bits_reset(&state);
      size_t part = std::min<uint64_t>(size, checksumBlock - inBlock);
      XXH3_64bits_update(&state, bytes, part);
      inBlock += part;
      total += part;
      bytes += part;
      size -= part;
      if (inBlock == checksumBlock)
        endBlock();
    }
  }
  uint64_t finish() {
    if (inBlock)
      endBlock();
    return combineBlocks(blocks, total);
  }
  static uint64_t of(const void *data, size_t size) {
    Checksum checksum;
    checksum.update(data, size);
    return checksum.finish();
  }

private:
  void endBlock() {
    blocks.push_back(XXH3_64bits_digest(&state));
    inBlock = 0;
  }

  XXH3_state_t state = {};
  std::vector<uint64_t> blocks;
  uint64_t inBlock = 0, total = 0;
};

} // namespace shardc::container

#endif
