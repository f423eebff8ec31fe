// A transport between "processes" that are parts of this one: messages are
// copied through a fabric that they share. It loses processes when told to.
#ifndef SHARDC_TEST_RUNTIME_COMM_MEMORYTRANSPORT_H
#define SHARDC_TEST_RUNTIME_COMM_MEMORYTRANSPORT_H

#include "runtime/comm/Transport.h"

#include <memory>
#include <vector>

namespace shardc::runtime {

class MemoryFabric;

/// The ends of `processes` processes.
std::vector<std::unique_ptr<Transport>> memoryTransports(int processes);

} // namespace shardc::runtime

#endif
