// The memory of a pool: taken from the system once, whole pages, zeroed, never
// moved.
#ifndef SHARDC_RUNTIME_BASE_MEMORY_H
#define SHARDC_RUNTIME_BASE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Owned bytes, aligned to 2 MiB (64 at least), in huge pages where the system
/// gives them.
class Memory {
public:
  /// Pools are what a plan or a save asks for; scratch is what threads keep
  /// beside it, and no report of pools has it.
  enum class Use { Pool, Scratch };

  Memory() = default;
  /// Throws an Error with `name` when the system has no more.
  static Memory allocate(const std::string &name, int64_t bytes,
                         Use use = Use::Pool);
  /// What this process has of pools, by address.
  static std::vector<std::span<std::byte>> pools();
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&other) noexcept;
  ~Memory();

  std::byte *data() const { return begin; }
  int64_t size() const { return bytes; }
  std::span<std::byte> span() const {
    return {begin, static_cast<size_t>(bytes)};
  }

private:
  std::byte *begin = nullptr;
  int64_t bytes = 0;
  void *mapping = nullptr;
  size_t mappedBytes = 0;
};

/// Writes a zero into every page of [begin, end), so that they lie near the
/// calling thread's processor.
void touchPages(std::byte *begin, std::byte *end);

} // namespace shardc::runtime

#endif
