// Whose device an error was of.
#ifndef SHARDC_RUNTIME_TRAIN_NAMINGRANK_H
#define SHARDC_RUNTIME_TRAIN_NAMINGRANK_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"

namespace shardc::runtime {

/// Calls body(). What a device has thrown gets the rank in front; other ranks
/// are told it with the rest of the reason.
template <typename Body>
void namingRank(Communicator &communicator, const Body &body) {
  try {
    body();
  } catch (const DeviceError &error) {
    communicator.abort(error.what());
    fail("rank ", communicator.rank(), ": ", error.what());
  }
}

} // namespace shardc::runtime

#endif
