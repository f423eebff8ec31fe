// Collectives between GPUs by NCCL: for each group of the plan two
// communicators, one for gathers and one for reductions, each with a stream.
#ifndef SHARDC_RUNTIME_CUDA_COLLECTIVES_NCCLGROUPS_H
#define SHARDC_RUNTIME_CUDA_COLLECTIVES_NCCLGROUPS_H

#include "runtime/comm/Communicator.h"
#include "runtime/cuda/Libraries.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace shardc::runtime::cuda {

class CudaDevice;

/// A device's address as NCCL takes it.
inline void *pointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

/// Memory of ncclMemAlloc.
struct NcclMemory {
  void *begin;
  size_t bytes;
};

/// A stream beside the compute stream, whose work is a communicator's.
struct CommStream {
  ncclComm_t comm = nullptr; // null in a group of one rank
  CUstream stream = nullptr;
  /// On what the device has allocated for collectives, which are then NCCL's
  /// fastest. Without null ones, which are where GPUs do not reach each other.
  std::vector<ncclWindow_t> windows = {};
};

struct NcclGroup {
  Communicator *host = nullptr; // whose ranks these are
  int rank = 0, size = 1;
  CommStream gathers, reductions;
};

class NcclGroups {
public:
  explicit NcclGroups(CudaDevice &device);
  /// Releases what still waits for other ranks.
  ~NcclGroups();

  /// The group of the ranks of `host`, connected when it is first asked for. All
  /// of them ask for the same groups in the same order, while binding.
  NcclGroup &of(Communicator &host);

  /// Collective `id` begins in a stream, behind what compute has begun, and what
  /// enqueues it, between these two.
  void begin(const CommStream &of);
  void end(const CommStream &of, uint32_t id);
  /// Compute goes on behind the collective.
  void await(uint32_t id);
  /// Makes ready for collectives of an id, while binding.
  void know(uint32_t id);
  bool isKnown(uint32_t id) const { return ends.contains(id); }

  /// Ends what waits for others where a rank has given up: no graph or stream
  /// that has begun a collective comes to its end before.
  void release();
  /// Whether any group has other ranks.
  bool haveOthers() const;
  /// Throws an Error that names the group where a communicator has failed.
  void check();

private:
  void connect(CommStream &stream, NcclGroup &group, const char *use);
  void openWindows(CommStream &stream, NcclGroup &group);
  /// Ends a communicator that nothing is on its way in, or that something may be.
  void close(CommStream &stream, bool isIdle);

  CudaDevice &device;
  std::map<Communicator *, std::unique_ptr<NcclGroup>> groups;
  CUevent begun = nullptr;          // of compute, before a start
  std::map<uint32_t, CUevent> ends; // by id
};

} // namespace shardc::runtime::cuda

#endif
