// What was measured of a rank's programs.
#ifndef SHARDC_RUNTIME_BASE_PROFILE_H
#define SHARDC_RUNTIME_BASE_PROFILE_H

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// Runs of a program with profiling on: seconds by entry, in the order of the
/// program.
struct Profile {
  int64_t runs = 0;
  double seconds = 0; // of whole runs
  double gemmSeconds =
      0; // spent in the GEMM library by worker 0, inside whatever entry
  std::vector<double> entrySeconds;
  /// How often each entry has run, with profiling on or not.
  std::vector<int64_t> entryRuns;
};

/// An entry of the training program that ran, in seconds of
/// monotonicSeconds().
struct EntryEvent {
  int entry;
  double begin, end;
};

} // namespace shardc::runtime

#endif
