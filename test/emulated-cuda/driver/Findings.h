// What the emulated driver says of misuse, and how it finds the host where it
// touches a device's memory.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_FINDINGS_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_FINDINGS_H

#include "Work.h"

namespace shardc::test::cuda {

/// The exit code of findings.
inline constexpr int findingCode = 86;

/// From here on, an access of the host to an emulated device's memory ends the
/// process with a finding. Other faults go where they went before.
void watchFaults();

/// What the calling thread runs, for faults in it; null: nothing.
extern thread_local const char *running;

} // namespace shardc::test::cuda

#endif
