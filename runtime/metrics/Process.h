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

/// Seconds of a clock that only goes forward.
double monotonicSeconds();

} // namespace shardc::runtime

#endif
