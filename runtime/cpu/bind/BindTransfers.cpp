// Transfers, begun and waited for by the calling thread.
#include "runtime/cpu/bind/Bind.h"

namespace shardc::runtime::cpu {

Task bind(CpuDevice &device, const entry::StartTransfer &entry) {
  return [=, &device] {
    device.transfers.start(entry.id, entry.source, entry.destination);
  };
}
Task bind(CpuDevice &device, const entry::AwaitTransfer &entry) {
  return [=, &device] { device.transfers.wait(entry.id); };
}

} // namespace shardc::runtime::cpu
