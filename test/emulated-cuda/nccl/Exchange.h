// What a collective does when its turn in the stream has come.
#ifndef SHARDC_TEST_EMULATEDCUDA_NCCL_EXCHANGE_H
#define SHARDC_TEST_EMULATEDCUDA_NCCL_EXCHANGE_H

#include "test/emulated-cuda/nccl/Communicator.h"
#include "test/emulated-cuda/nccl/Reduce.h"

#include <vector>

namespace shardc::test::cuda {

enum class Kind : uint32_t {
  AllGather = 1,
  ReduceScatter,
  AllReduce,
  AlltoAll,
  WindowRegister,
  Parcels
};

/// Of a group's ncclSend or ncclRecv.
struct Parcel {
  int peer;
  bool isSent;
  CUdeviceptr address;
  size_t bytes;
};

struct Collective {
  Kind kind;
  CUdeviceptr send, receive;
  size_t count; // as the call has it
  ncclDataType_t type;
  ncclRedOp_t op;
  /// All that a group sends and receives, in the order of the calls; `count` and
  /// the buffers are not used then.
  std::vector<Parcel> parcels = {};

  /// "ncclAllGather of 12 float32".
  std::string describe() const;
  size_t sendBytes(int ranks) const;
  size_t receiveBytes(int ranks) const;
};

/// Exchanges through the communicator's segment, slice by slice. Returns early,
/// with what has come so far, if this rank is aborted or loses another one.
void exchange(ncclComm &comm, const Collective &collective);

} // namespace shardc::test::cuda

#endif
