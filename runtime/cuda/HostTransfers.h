// A rank's pool host, which is pinned memory, and the streams that copy between
// it and the GPU, one in each direction.
#ifndef SHARDC_RUNTIME_CUDA_HOSTTRANSFERS_H
#define SHARDC_RUNTIME_CUDA_HOSTTRANSFERS_H

#include "runtime/cuda/Libraries.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace shardc::runtime::cuda {

class CudaDevice;

class HostTransfers {
public:
  explicit HostTransfers(CudaDevice &device) : device(device) {}
  /// What was begun is waited for.
  ~HostTransfers();
  HostTransfers(const HostTransfers &) = delete;
  HostTransfers &operator=(const HostTransfers &) = delete;

  /// The pool, zeros, once. Throws an Error where the host has no room for it.
  std::byte *allocate(const std::string &name, int64_t bytes);
  /// Whether an address is one of the pool.
  bool isThere(const std::byte *address) const {
    return address >= pool && address < pool + bytes;
  }

  /// Makes ready for transfers of an id, while binding.
  void know(uint32_t id);
  bool isKnown(uint32_t id) const { return ends.contains(id); }
  /// Begins to copy behind what compute has begun, and behind the transfer
  /// before in this direction.
  void start(uint32_t id, const std::byte *from, std::byte *to, int64_t count);
  /// Compute goes on behind the transfer.
  void await(uint32_t id);

private:
  CudaDevice &device;
  std::byte *pool = nullptr;
  int64_t bytes = 0;
  CUstream toHost = nullptr, fromHost = nullptr;
  CUevent begun = nullptr;          // of compute, before a start
  std::map<uint32_t, CUevent> ends; // by id
};

} // namespace shardc::runtime::cuda

#endif
