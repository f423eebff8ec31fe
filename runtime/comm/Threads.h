// Collectives between ranks that are threads of one process: they read each
// other's buffers directly.
#ifndef SHARDC_RUNTIME_COMM_THREADS_H
#define SHARDC_RUNTIME_COMM_THREADS_H

#include "runtime/comm/Communicator.h"

#include <memory>

namespace shardc::runtime {

class ThreadProcess;

/// A rank's end of the world whose ranks meet in `process` (ThreadGroup.h).
/// Each of its ranks connects once.
std::unique_ptr<Communicator>
connectThread(std::shared_ptr<ThreadProcess> process, int rank);

} // namespace shardc::runtime

#endif
