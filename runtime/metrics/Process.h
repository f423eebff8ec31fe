// What the system knows about this process.
#ifndef SHARDC_RUNTIME_METRICS_PROCESS_H
#define SHARDC_RUNTIME_METRICS_PROCESS_H

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>

namespace shardc::runtime {

/// Seconds since the process was started, exec and dynamic linking included;
/// resolution 10 ms.
double secondsSinceProcessStart();

/// Most bytes resident at once so far.
int64_t peakResidentBytes();

/// Bytes resident now, by where they lie: pages that several processes share
/// count in parts (Pss in smaps of proc(5)). Zeros where the kernel does not say.
struct ProcessMemory {
  int64_t pools = 0; // of base/Memory.h
  int64_t files = 0; // the program, libraries, and files that are read
  /// Heap, stacks, and what libraries have taken for themselves.
  int64_t others = 0;

  int64_t sum() const { return pools + files + others; }
  static ProcessMemory now();
  /// The same of a text of that form and the pools' addresses.
  static ProcessMemory parse(std::istream &smaps,
                             std::span<const std::span<std::byte>> pools);
};

/// Seconds of a clock that only goes forward.
double monotonicSeconds();

/// Seconds since 1970, in whole milliseconds.
double secondsSince1970();

} // namespace shardc::runtime

#endif
