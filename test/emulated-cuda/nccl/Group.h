// Calls between ncclGroupStart and ncclGroupEnd, of one thread.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_GROUP_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_GROUP_H

#include "runtime/cuda/api/Nccl.h"

#include <functional>

namespace shardc::test::cuda {

/// At once where no group is open; else ncclSuccess, and the group's end has the
/// first result that is none.
shardc::cuda::ncclResult_t
whenGroupEnds(std::function<shardc::cuda::ncclResult_t()> call);
/// Whether this thread has one open.
bool isGroupOpen();

} // namespace shardc::test::cuda

#endif
