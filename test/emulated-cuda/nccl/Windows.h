// What collectives and communicators ask of windows.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_WINDOWS_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_WINDOWS_H

#include "test/emulated-cuda/nccl/Exchange.h"

namespace shardc::test::cuda {

/// What must be equal on all ranks of where a collective's buffers lie; 0 where
/// they do not both lie in windows. It is a finding if they do not, and a
/// communicator that has windows is to use no CTAs.
uint64_t placeInWindows(const ncclComm &comm, const Collective &call);

/// The communicator goes. It is a finding if it has windows, and was not aborted.
void forgetWindows(const ncclComm &comm, bool wasAborted);

} // namespace shardc::test::cuda

#endif
