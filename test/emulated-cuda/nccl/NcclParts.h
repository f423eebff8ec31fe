// What a rank does that is a process of its own.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_NCCLPARTS_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_NCCLPARTS_H

#include "test/emulated-cuda/nccl/TestedRanks.h"

namespace shardc::test::cuda {

using Part = void (*)(TestedRank &rank, const ncclUniqueId &id);

/// Throws a std::runtime_error where there is none of the name.
Part partOf(const std::string &name);

/// Waits until the communicator has an asynchronous error, and returns it;
/// ncclSuccess if it has none within so many seconds.
ncclResult_t awaitAsyncError(ncclComm_t comm, double seconds);

} // namespace shardc::test::cuda

#endif
