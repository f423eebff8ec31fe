// What the rest of a run asks of a kind of devices, instead of which kind it
// is: each device's folder answers for its own.
#ifndef SHARDC_RUNTIME_DEVICE_DEVICETRAITS_H
#define SHARDC_RUNTIME_DEVICE_DEVICETRAITS_H

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace shardc::runtime {

/// --device: which of the trainer's targets runs. Auto: GPUs where there are
/// enough of them.
enum class DeviceKind { Auto, Cpu, Cuda };

/// Of devices that run one plan; known without looking at the machine.
struct DeviceTraits {
  DeviceKind kind = DeviceKind::Cpu;
  /// What each rank has besides its threads, "a GPU (cuda:sm_90)"; empty:
  /// nothing.
  std::string ofEachRank = {};
  /// Ranks of a process have one memory, and there are devices for any number
  /// of them; else each has a device and its memory for itself.
  bool ranksShare = true;
  /// Threads of a rank that the plan's workspaces are for; none: any number.
  std::optional<int64_t> mostThreads = {};
  /// The pool host is a file in --offload-dir; else memory of the host.
  bool offloadsToFile = true;
  /// Flags that change what these devices do, and nothing on others.
  std::set<std::string_view> flags = {};

  /// Of so many ranks of a process, those whose memory is one.
  int64_t sharing(int64_t ranksPerProcess) const {
    return ranksShare ? ranksPerProcess : 1;
  }
};

} // namespace shardc::runtime

#endif
