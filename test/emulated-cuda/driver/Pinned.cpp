// Pinned memory is mapped twice: for the host, whose pages can be closed, and for
// streams.
#include "Pinned.h"

#include "Work.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace shardc::test::cuda {

namespace {

constexpr uintptr_t page = 4096;

struct Block {
  size_t bytes = 0, mapped = 0;
  char *forStreams = nullptr;
};

/// A range that a task has.
struct Loan {
  uintptr_t begin = 0, end = 0;
  bool writes = false;
  uint32_t place = 0, time = 0;
  std::string name;
};

struct Tables {
  std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  std::vector<Loan> loans;
  std::atomic<size_t> loanCount = 0;

  /// The block with the address; `blocks.end()` of none.
  std::map<uintptr_t, Block>::iterator find(uintptr_t at) {
    auto behind = blocks.upper_bound(at);
    if (behind == blocks.begin())
      return blocks.end();
    auto found = std::prev(behind);
    return at - found->first < found->second.mapped ? found : blocks.end();
  }
  int allowedAt(uintptr_t at) const {
    int allowed = PROT_READ | PROT_WRITE;
    for (const Loan &loan : loans)
      if (loan.begin < at + page && at < loan.end)
        allowed &= loan.writes ? PROT_NONE : PROT_READ;
    return allowed;
  }
  /// Pages of [begin, end) are as open as the loans allow.
  void protect(uintptr_t begin, uintptr_t end) {
    for (uintptr_t at = begin / page * page; at < end;) {
      uintptr_t next = at + page;
      int allowed = allowedAt(at);
      while (next < end && allowedAt(next) == allowed)
        next += page;
      mprotect(reinterpret_cast<void *>(at), next - at, allowed);
      at = next;
    }
  }
};

Tables &tables() {
  // Streams' threads may ask at the very end.
  static Tables *all = new Tables;
  return *all;
}

uintptr_t number(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

/// Pages that this thread's instruction has open. It may touch several, and no
/// allocation may be made in a handler of signals.
struct OpenPages {
  std::array<uintptr_t, 16> begins;
  size_t count = 0;
};
thread_local OpenPages openPages;

} // namespace

CUresult allocatePinned(size_t bytes, void *&address) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  Block block{bytes, (bytes + page - 1) / page * page, nullptr};
  void *host = mmap(nullptr, block.mapped, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Of shared memory, "moving" none of it maps it a second time (mremap(2)).
  void *second = mremap(host, 0, block.mapped, MREMAP_MAYMOVE);
  if (second == MAP_FAILED) {
    munmap(host, block.mapped);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  block.forStreams = static_cast<char *>(second);
  // Nobody relies on what it holds. Further on pages come with their first use.
  std::memset(host, 0xa5, std::min(bytes, size_t(1) << 16));
  std::lock_guard lock(tables().mutex);
  tables().blocks[number(host)] = block;
  address = host;
  return CUDA_SUCCESS;
}

CUresult releasePinned(void *address) {
  std::lock_guard lock(tables().mutex);
  auto found = tables().blocks.find(number(address));
  if (found == tables().blocks.end())
    return CUDA_ERROR_INVALID_VALUE;
  munmap(address, found->second.mapped);
  munmap(found->second.forStreams, found->second.mapped);
  tables().blocks.erase(found);
  return CUDA_SUCCESS;
}

bool isPinned(const void *address, size_t bytes) {
  std::lock_guard lock(tables().mutex);
  auto found = tables().find(number(address));
  if (found == tables().blocks.end())
    return false;
  uintptr_t offset = number(address) - found->first;
  return offset <= found->second.bytes && bytes <= found->second.bytes - offset;
}

void *streamAddress(const void *pinned) {
  std::lock_guard lock(tables().mutex);
  auto found = tables().find(number(pinned));
  return found->second.forStreams + (number(pinned) - found->first);
}

void lend(const HostRange &range, uint32_t place, uint32_t time,
          const std::string &name) {
  if (range.bytes == 0)
    return;
  uintptr_t begin = number(range.begin), end = begin + range.bytes;
  std::lock_guard lock(tables().mutex);
  tables().loans.push_back({begin, end, range.writes, place, time, name});
  tables().protect(begin, end);
  ++tables().loanCount;
}

void giveBack(const Clock &clock) {
  Tables &all = tables();
  if (all.loanCount == 0)
    return;
  std::lock_guard lock(all.mutex);
  std::vector<Loan> done;
  std::erase_if(all.loans, [&](const Loan &loan) {
    bool isDone = clock.at(loan.place) >= loan.time;
    if (isDone)
      done.push_back(loan);
    return isDone;
  });
  for (const Loan &loan : done)
    if (all.find(loan.begin) != all.blocks.end())
      all.protect(loan.begin, loan.end);
  all.loanCount = all.loans.size();
}

bool mayTouch(const void *address, bool inStream) {
  std::string name;
  {
    std::lock_guard lock(tables().mutex);
    uintptr_t at = number(address);
    if (tables().find(at) == tables().blocks.end())
      return false;
    for (const Loan &loan : tables().loans)
      if (loan.begin <= at && at < loan.end && !inStream)
        name = loan.name;
    // Another byte of the page is a task's.
    if (name.empty() && openPages.count < openPages.begins.size()) {
      uintptr_t begin = at / page * page;
      openPages.begins[openPages.count++] = begin;
      mprotect(reinterpret_cast<void *>(begin), page, PROT_READ | PROT_WRITE);
    }
  }
  if (!name.empty())
    finding("the host touches pinned memory of '" + name +
            "', and has not waited for it");
  return true;
}

void closeAgain() {
  std::lock_guard lock(tables().mutex);
  for (size_t i = 0; i < openPages.count; ++i)
    if (uintptr_t begin = openPages.begins[i];
        tables().find(begin) != tables().blocks.end())
      tables().protect(begin, begin + page);
  openPages.count = 0;
}

} // namespace shardc::test::cuda
