// Anonymous mappings for the pools.
#include "runtime/base/Memory.h"

#include "runtime/base/Error.h"

#include <map>
#include <mutex>
#include <sys/mman.h>
#include <utility>

using namespace shardc::runtime;

namespace {

/// Every pool, for who asks where the process's bytes are.
struct Registry {
  std::mutex mutex;
  std::map<std::byte *, size_t> sizes; // by begin

  static Registry &get() {
    static Registry registry;
    return registry;
  }
};

} // namespace

static constexpr int64_t hugePage = int64_t(2) << 20;

Memory Memory::allocate(const std::string &name, int64_t bytes, Use use) {
  Memory memory;
  if (bytes == 0)
    return memory;
  // Mapped with one huge page to spare, so that the pool can begin on a huge
  // page's boundary.
  size_t mapped = static_cast<size_t>(bytes + hugePage);
  void *mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    failErrno("no memory for the ", name, " pool of ", bytes, " bytes");
  uintptr_t address = reinterpret_cast<uintptr_t>(mapping);
  uintptr_t aligned = (address + hugePage - 1) / hugePage * hugePage;
  memory.begin = reinterpret_cast<std::byte *>(aligned);
  memory.bytes = bytes;
  memory.mapping = mapping;
  memory.mappedBytes = mapped;
  if (bytes >= hugePage)
    madvise(memory.begin, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  if (use == Use::Pool) {
    Registry &registry = Registry::get();
    std::lock_guard lock(registry.mutex);
    registry.sizes[memory.begin] = static_cast<size_t>(bytes);
  }
  return memory;
}

std::vector<std::span<std::byte>> Memory::pools() {
  Registry &registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  std::vector<std::span<std::byte>> all;
  for (auto [begin, size] : registry.sizes)
    all.emplace_back(begin, size);
  return all;
}

Memory::Memory(Memory &&other) noexcept { *this = std::move(other); }

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(begin, other.begin);
  std::swap(bytes, other.bytes);
  std::swap(mapping, other.mapping);
  std::swap(mappedBytes, other.mappedBytes);
  return *this;
}

Memory::~Memory() {
  if (!mapping)
    return;
  Registry &registry = Registry::get();
  {
    std::lock_guard lock(registry.mutex);
    registry.sizes.erase(begin);
  }
  munmap(mapping, mappedBytes);
}

void shardc::runtime::touchPages(std::byte *begin, std::byte *end) {
  constexpr uintptr_t page = 4096;
  for (std::byte *at = begin; at < end;
       at += page - reinterpret_cast<uintptr_t>(at) % page)
    *reinterpret_cast<volatile char *>(at) = 0;
}
