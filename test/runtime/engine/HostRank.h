// Ranks whose device is this machine's processor, and their memory, which tests
// look into.
#ifndef SHARDC_TEST_RUNTIME_ENGINE_HOSTRANK_H
#define SHARDC_TEST_RUNTIME_ENGINE_HOSTRANK_H

#include "runtime/cpu/CpuDevice.h"
#include "runtime/engine/Executor.h"

#include <span>

namespace shardc::runtime {

inline std::unique_ptr<Rank> makeHostRank(const plan::Plan &plan,
                                          const KernelLibrary &library,
                                          Communicator &communicator,
                                          const RankOptions &options = {},
                                          const cpu::CpuOptions &device = {}) {
  return Rank::create(plan, cpu::cpuDevices(plan, library, device),
                      communicator, options);
}

inline std::span<std::byte> hostBytes(const Slice &slice) {
  return {slice.data, static_cast<size_t>(slice.bytes())};
}
template <typename T> std::span<T> hostElements(const Slice &slice) {
  return {reinterpret_cast<T *>(slice.data),
          static_cast<size_t>(slice.elements)};
}

} // namespace shardc::runtime

#endif
