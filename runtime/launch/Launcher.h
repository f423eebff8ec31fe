// The world that a process was started into, by its flags and its environment.
#ifndef SHARDC_RUNTIME_LAUNCH_LAUNCHER_H
#define SHARDC_RUNTIME_LAUNCH_LAUNCHER_H

#include "runtime/launch/Launch.h"
#include "runtime/launch/World.h"

namespace shardc::runtime {

/// All ranks as threads of this process, or as many as are its part; on its part
/// of the host's cores. Waits for the other processes. Throws an Error where the
/// ranks do not fall into the processes, a StoreTimeout where some do not come.
std::unique_ptr<World> launchedWorld(int ranks, const Launch &launch,
                                     int startTimeout);

} // namespace shardc::runtime

#endif
