// Whether a launcher (torchrun, srun, mpirun) started this process as one of
// several.
#ifndef SHARDC_RUNTIME_LAUNCH_LAUNCHER_H
#define SHARDC_RUNTIME_LAUNCH_LAUNCHER_H

namespace shardc::runtime {

/// All ranks run as threads of one process. Throws an Error when a launcher's
/// environment says that this process is one of several: each would train
/// alone.
void refuseSeveralProcesses();

} // namespace shardc::runtime

#endif
