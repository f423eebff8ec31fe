// What the system knows about this process.
#ifndef SHARDC_RUNTIME_METRICS_PROCESS_H
#define SHARDC_RUNTIME_METRICS_PROCESS_H

#include <cstdint>

namespace shardc::runtime {

/// Seconds since the process was started, exec and dynamic linking included;
/// resolution 10 ms.
double secondsSinceProcessStart();

/// Most bytes resident at once so far.
int64_t peakResidentBytes();

/// Bytes resident now, pages that several processes share counted in parts
/// (Pss of proc(5), smaps_rollup); 0 where the kernel does not say.
int64_t proportionalBytes();

/// Seconds of a clock that only goes forward.
double monotonicSeconds();

/// Seconds since 1970, in whole milliseconds.
double secondsSince1970();

} // namespace shardc::runtime

#endif
