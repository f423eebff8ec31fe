// Whether a launcher (torchrun, srun, mpirun) or a platform of several nodes
// started this process as one of several.
#ifndef SHARDC_RUNTIME_LAUNCH_LAUNCHER_H
#define SHARDC_RUNTIME_LAUNCH_LAUNCHER_H

namespace shardc::runtime {

/// All ranks run as threads of one process. Throws an Error when the
/// environment says that this process is one of several: each would train
/// alone.
void refuseSeveralProcesses();

} // namespace shardc::runtime

#endif
