// The container of a trainer: what follows the runtime's own bytes in the one
// file. Shared by the compiler, which writes it, and the runtime, which reads
// itself. No dependencies.
//
//   [runtime executable][section]...[section table][footer]
//
// A reader takes the last sizeof(Footer) bytes of the file, checks `magic` and
// `version`, then reads `sections` entries of `Section` at `tableOffset`.
// Sections begin at multiples of `alignment`, so that a mapped kernel library
// or weight section is page-aligned; the bytes between are zero. All integers
// are little-endian.
#ifndef SHARDC_RUNTIME_CONTAINER_H
#define SHARDC_RUNTIME_CONTAINER_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shardc::container {

constexpr char magic[8] = {'S', 'H', 'A', 'R', 'D', 'C', '\n', '\x1a'};
constexpr uint32_t version = 1;
constexpr uint64_t alignment = 4096;

/// What a section holds.
enum SectionKind : uint32_t {
  sectionPlan = 1,           // serialized shardc.plan.Plan
  sectionKernels = 2,        // shared object with the plan's kernels
  sectionExportTemplate = 3, // ONNX ModelProto without initializers' values
  sectionWeights = 4,        // stored parameters; plan Source.embedded
};

struct Section {
  uint32_t kind;
  uint32_t reserved;
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

/// FNV-1a over 64-bit words (the last one filled up with zeros) and the
/// length: finds truncation and flipped bits, not malice. Every update but the
/// last takes a multiple of 8 bytes.
class Checksum {
public:
  void update(const void *data, size_t size) {
    const char *bytes = static_cast<const char *>(data);
    total += size;
    for (; size >= 8; bytes += 8, size -= 8)
      mix(word(bytes, 8));
    if (size)
      mix(word(bytes, size));
  }
  uint64_t finish() {
    mix(total);
    return state ^ (state >> 32);
  }
  static uint64_t of(const void *data, size_t size) {
    Checksum checksum;
    checksum.update(data, size);
    return checksum.finish();
  }

private:
  static uint64_t word(const char *bytes, size_t size) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, size);
    return value;
  }
  void mix(uint64_t value) { state = (state ^ value) * 0x100000001b3ull; }

  uint64_t state = 0xcbf29ce484222325ull;
  uint64_t total = 0;
};

} // namespace shardc::container

#endif
