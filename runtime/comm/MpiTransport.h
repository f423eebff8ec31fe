// Messages over an MPI library: whatever fabric that reaches.
#ifndef SHARDC_RUNTIME_COMM_MPITRANSPORT_H
#define SHARDC_RUNTIME_COMM_MPITRANSPORT_H

#include "runtime/comm/MpiLibrary.h"
#include "runtime/comm/Transport.h"

#include <memory>

namespace shardc::runtime {

/// Between the processes of a library that has begun, all of which call this
/// together; one at a time. While it is there, its
/// driver alone calls the library. MPI tells of no message by itself, so
/// sleep() returns after a pause, of a microsecond at first and of a
/// millisecond at last. Nor does it tell of processes that are gone, but where
/// a message to one fails: their launcher ends the others.
/// `pieceBytes`: longer messages go in pieces, since MPI counts in ints.
std::unique_ptr<Transport> mpiTransport(std::shared_ptr<MpiLibrary> library,
                                        int64_t pieceBytes = 1 << 30);

} // namespace shardc::runtime

#endif
