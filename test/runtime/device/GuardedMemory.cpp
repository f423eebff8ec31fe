// Two mappings of one file in memory, and the signal of whoever touches the
// wrong one.
#include "test/runtime/device/GuardedMemory.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace shardc::runtime {

namespace {

/// For the signal handler: what is guarded, of all devices.
struct Guarded {
  std::atomic<const std::byte *> begin{nullptr};
  std::atomic<size_t> bytes{0};
  char name[64];
};
Guarded guarded[256];
std::atomic<int> guardedCount{0};

/// Others have memory that nobody touches, too.
struct sigaction before;

void onTouch(int signal, siginfo_t *info, void *context) {
  auto *address = static_cast<const std::byte *>(info->si_addr);
  for (int i = 0; i < std::min(guardedCount.load(), 256); ++i) {
    const std::byte *begin = guarded[i].begin;
    if (address < begin || address >= begin + guarded[i].bytes)
      continue;
    const char *parts[] = {"the host touches the device's memory '",
                           guarded[i].name, "'\n"};
    for (const char *part : parts)
      if (write(STDERR_FILENO, part, std::strlen(part)) < 0)
        break;
    _exit(70);
  }
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
    return before.sa_sigaction(signal, info, context);
  sigaction(signal, &before, nullptr); // the instruction runs again
}

void guard(const GuardedAllocation &allocation) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = onTouch;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
  });
  int index = guardedCount++ % 256;
  std::snprintf(guarded[index].name, sizeof guarded[index].name, "%s",
                allocation.name.c_str());
  guarded[index].bytes = allocation.mapped;
  guarded[index].begin = allocation.given;
}

} // namespace

GuardedAllocation::~GuardedAllocation() {
  if (mapped) {
    // Others may get the addresses.
    for (Guarded &each : guarded)
      if (each.begin == given)
        each.bytes = 0;
    munmap(given, mapped);
    munmap(inside, mapped);
  }
}

std::unique_ptr<GuardedAllocation>
GuardedAllocation::map(const std::string &name, int64_t bytes) {
  auto allocation = std::make_unique<GuardedAllocation>();
  allocation->name = name;
  allocation->bytes = bytes;
  // What lies beyond faults as well.
  constexpr size_t page = 4096;
  allocation->mapped = (size_t(bytes) + page - 1) / page * page;
  int file = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(allocation->mapped)) != 0)
    fail("no memory of ", bytes, " bytes for ", name);
  auto map = [&](int protection) {
    void *mapped =
        mmap(nullptr, allocation->mapped, protection, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
      fail("no memory of ", bytes, " bytes for ", name);
    return static_cast<std::byte *>(mapped);
  };
  allocation->given = map(PROT_NONE);
  allocation->inside = map(PROT_READ | PROT_WRITE);
  close(file);
  guard(*allocation);
  return allocation;
}

} // namespace shardc::runtime
