// Pinned memory of the host. Copies that are on their way own what they read or
// write of it: a host that touches that and has not waited for them is found,
// whether or not it would have come too early this time.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_PINNED_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_PINNED_H

#include "Clock.h"

#include "runtime/cuda/api/Driver.h"

#include <string>

namespace shardc::test::cuda {

using namespace shardc::cuda;

/// Bytes of the host that an action reads, or writes.
struct HostRange {
  const void *begin = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

CUresult allocatePinned(size_t bytes, void *&address);
CUresult releasePinned(void *address);
/// Whether all bytes lie in one allocation of pinned memory.
bool isPinned(const void *address, size_t bytes);
/// Where what runs in streams finds them: what the host's own addresses allow is
/// no matter there.
void *streamAddress(const void *pinned);

/// The range is a task's, which is number `time` of the clocks' `place`, until
/// the host has waited for that.
void lend(const HostRange &range, uint32_t place, uint32_t time,
          const std::string &name);
/// The host has waited for all that the clock knows of.
void giveBack(const Clock &clock);
/// After a fault of the host at an address. False: it is none of pinned memory.
/// True: the page is open, and the access may be tried again; `inStream`: by what
/// a stream runs. It is a finding where a task has the byte.
bool mayTouch(const void *address, bool inStream);
/// Pages that were opened are as open again as all their bytes allow.
void closeAgain();

} // namespace shardc::test::cuda

#endif
