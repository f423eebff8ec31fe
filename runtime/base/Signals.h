// Signals that end a run after the step that is under way.
#ifndef SHARDC_RUNTIME_BASE_SIGNALS_H
#define SHARDC_RUNTIME_BASE_SIGNALS_H

#include <csignal>

namespace shardc::runtime {

/// SIGUSR1, SIGUSR2 and SIGXCPU are what schedulers send some time before they
/// kill: Slurm's --signal, SGE's -notify, LSF's limit of time.
inline constexpr int endingSignals[] = {SIGINT,  SIGTERM, SIGUSR1,
                                        SIGUSR2, SIGXCPU, SIGHUP};

/// From now on these are noted, SIGHUP unless it was ignored, as under nohup; a
/// second one of the same kills, but for SIGHUP; and a closed pipe is an error
/// of the write, not a signal.
void installSignalHandlers();

/// The signal that was noted; 0: none.
int stopSignal();

/// Notes a signal as if it had come.
void requestStop(int signal);

} // namespace shardc::runtime

#endif
