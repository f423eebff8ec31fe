// What the system knows about this process.
#include "runtime/metrics/Process.h"

#include "runtime/base/Memory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <istream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace shardc::runtime {

static double secondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double monotonicSeconds() { return secondsOf(CLOCK_MONOTONIC); }

double secondsSince1970() {
  return std::round(1e3 * secondsOf(CLOCK_REALTIME)) / 1e3;
}

double secondsSinceProcessStart() {
  // proc(5): field 22 is the start, in clock ticks since boot. The name in
  // field 2 may hold spaces and parentheses.
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos)
    return 0;
  double start = std::strtod(text.c_str() + at, nullptr) /
                 static_cast<double>(sysconf(_SC_CLK_TCK));
  return secondsOf(CLOCK_BOOTTIME) - start;
}

int64_t peakResidentBytes() {
  // ru_maxrss begins with that of the process which called exec.
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/// Bytes of [begin, end) that lie in pools.
static uint64_t bytesInPools(uint64_t begin, uint64_t end,
                             std::span<const std::span<std::byte>> pools) {
  uint64_t bytes = 0;
  for (std::span<std::byte> pool : pools) {
    uint64_t first = reinterpret_cast<uintptr_t>(pool.data());
    uint64_t from = std::max(begin, first);
    uint64_t to = std::min(end, first + pool.size());
    bytes += to > from ? to - from : 0;
  }
  return bytes;
}

ProcessMemory
ProcessMemory::parse(std::istream &smaps,
                     std::span<const std::span<std::byte>> pools) {
  ProcessMemory memory;
  bool isFile = false;
  double part = 0; // of the mapping, in pools
  for (std::string line; std::getline(smaps, line);) {
    // BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH, then lines NAME: VALUE kB
    unsigned long begin, end;
    long kibibytes;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      isFile = line.find(" /") != std::string::npos;
      part = double(bytesInPools(begin, end, pools)) / double(end - begin);
    } else if (std::sscanf(line.c_str(), "Pss: %ld kB", &kibibytes) == 1) {
      int64_t bytes = int64_t(kibibytes) * 1024;
      // Mappings that lie side by side may be listed as one.
      auto own = int64_t(part * double(bytes));
      memory.pools += own;
      (isFile ? memory.files : memory.others) += bytes - own;
    }
  }
  return memory;
}

ProcessMemory ProcessMemory::now() {
  std::ifstream smaps("/proc/self/smaps");
  return parse(smaps, Memory::pools());
}

} // namespace shardc::runtime
