// The world that a process was started into, by its flags and its environment.
#ifndef SHARDC_RUNTIME_LAUNCH_LAUNCHER_H
#define SHARDC_RUNTIME_LAUNCH_LAUNCHER_H

#include "runtime/launch/Launch.h"
#include "runtime/launch/World.h"

namespace shardc::runtime {

/// All ranks as threads of this process, or as many as are its part. Waits for
/// the other processes, `flags.startTimeout` seconds at most. Throws an Error
/// as detectLaunch() does, where the ranks do not fall into the processes, and
/// where others cannot be reached.
std::unique_ptr<World> launchedWorld(int ranks, const LaunchFlags &flags);

} // namespace shardc::runtime

#endif
