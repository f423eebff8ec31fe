// Collectives, begun and waited for by the calling thread.
#include "runtime/cpu/bind/Bind.h"

namespace shardc::runtime::cpu {

Task bind(CpuDevice &device, const entry::StartAllGather &entry) {
  return [=, &device] { device.tickets.start(entry); };
}
Task bind(CpuDevice &device, const entry::StartReduceScatter &entry) {
  return [=, &device] { device.tickets.start(entry, device.numbers); };
}
Task bindRead(CpuDevice &device, const entry::StartReduceScatter &entry,
              std::shared_ptr<ReducedNorm> norm) {
  device.readers.push_back(norm);
  return [=, &device] {
    const StepNumbers &numbers = device.numbers;
    if (!numbers.endsStep())
      return device.tickets.start(entry, numbers);
    norm->begin(numbers.clipNorm);
    device.tickets.start(entry, numbers, norm.get());
  };
}
Task bind(CpuDevice &device, const entry::StartAllReduce &entry) {
  return [=, &device] { device.tickets.start(entry, device.numbers); };
}
Task bind(CpuDevice &device, const entry::StartAllToAll &entry) {
  return [=, &device] { device.tickets.start(entry); };
}
Task bind(CpuDevice &device, const entry::StartBarrier &entry) {
  return [=, &device] { device.tickets.start(entry); };
}
Task bind(CpuDevice &device, const entry::Wait &entry) {
  return [=, &device] { device.tickets.wait(entry); };
}
Task bind(CpuDevice &device, const entry::Finish &entry) {
  return [=, &device] { device.tickets.finish(entry); };
}

} // namespace shardc::runtime::cpu
