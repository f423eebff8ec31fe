// Slices of float32 master weights that lie in two parts in a device's memory.
#ifndef SHARDC_RUNTIME_ENGINE_SPLITSLICE_H
#define SHARDC_RUNTIME_ENGINE_SPLITSLICE_H

#include "runtime/engine/Executor.h"

namespace shardc::runtime {

/// Copy elements [begin, begin + elements) of a slice with a remainder. Throw an
/// Error where it has not as many.
void readSplit(Device &device, const Slice &slice, int64_t begin,
               int64_t elements, float *values);
void writeSplit(Device &device, const Slice &slice, int64_t begin,
                int64_t elements, const float *values);

} // namespace shardc::runtime

#endif
