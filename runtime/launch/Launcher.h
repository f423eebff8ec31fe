// The world that a process was started into, by what its environment says.
#ifndef SHARDC_RUNTIME_LAUNCH_LAUNCHER_H
#define SHARDC_RUNTIME_LAUNCH_LAUNCHER_H

#include "runtime/launch/World.h"

namespace shardc::runtime {

/// All ranks as threads of this process. Throws an Error as
/// refuseSeveralProcesses() does.
std::unique_ptr<World> launchedWorld(int ranks);

/// Throws an Error when a launcher (torchrun, srun, mpirun) or a platform of
/// several nodes started this process as one of several, by its environment:
/// each would train alone.
void refuseSeveralProcesses();

} // namespace shardc::runtime

#endif
