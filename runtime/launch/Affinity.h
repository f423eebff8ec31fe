// Which of a host's processors a process runs on, beside others of its run.
#ifndef SHARDC_RUNTIME_LAUNCH_AFFINITY_H
#define SHARDC_RUNTIME_LAUNCH_AFFINITY_H

#include "runtime/launch/Launch.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// Processors as the system numbers them, core by core: hardware threads of one
/// core are together, and neighbours lie near each other.
using Cores = std::vector<std::vector<int>>;

/// Those that this thread may use. `system`: where the system describes them.
Cores usableCoreList(const std::string &system = "/sys/devices/system/cpu");

/// The part of process `index` of `count`: whole cores where there are enough,
/// else single processors, else nothing.
std::vector<int> shareOf(const Cores &cores, int index, int count);

/// A mask that processes tell each other: "0-3,8".
std::string maskText(const Cores &cores);

/// What a process should bind to: its share where all processes of its host
/// have the mask `masks` says, the same; nothing where a launcher has given
/// them different ones, or there is one alone.
std::vector<int> chosenShare(const Cores &cores,
                             const std::vector<std::string> &masks, int index);

/// Processes of the host that compute with the processors of process `index`,
/// it included, once each is bound to what is chosen for it.
int sharersOf(const Cores &cores, const std::vector<std::string> &masks,
              int index);

/// Binds this thread, and those that it will start.
void bindThread(const std::vector<int> &processors);

/// Where mpirun has left this process a single core of several: what to do
/// about that, in a line; else empty. `usable`: that this process may use;
/// `present`: that the host has.
std::string oneCoreWarning(const Launch &launch, int usable, int present);

} // namespace shardc::runtime

#endif
