// The entries of a trainer's plan, resolved for memory that is nowhere.
#ifndef SHARDC_TEST_EMULATEDCUDA_CUDNN_RECORDEDENTRIES_H
#define SHARDC_TEST_EMULATEDCUDA_CUDNN_RECORDEDENTRIES_H

#include "runtime/device/Device.h"
#include "runtime/plan.pb.h"

#include <vector>

namespace shardc::test {

/// As the first rank of the plan's mesh binds them.
std::vector<runtime::PlacedEntry> entriesOf(const plan::Plan &plan);

} // namespace shardc::test

#endif
