// What a program asks of the driver, for tests that count it.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_CALLLOG_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_CALLLOG_H

#include <cstddef>

namespace shardc::test::cuda {

/// Where SHARDC_EMULATED_CALLS names a file, appends a line "DEVICE FUNCTION
/// BYTES" to it: of the device whose context is current (-1: none), and what the
/// call allocates.
void logCall(const char *function, size_t bytes);

} // namespace shardc::test::cuda

#endif
