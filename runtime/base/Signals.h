// SIGINT, SIGTERM, SIGUSR1 and SIGHUP end a run after the step that is under way.
#ifndef SHARDC_RUNTIME_BASE_SIGNALS_H
#define SHARDC_RUNTIME_BASE_SIGNALS_H

namespace shardc::runtime {

/// From now on SIGINT, SIGTERM, SIGUSR1 (what schedulers send some time before
/// they kill) and SIGHUP (unless it was ignored, as under nohup) are noted; a
/// second one of the same kills, but for SIGHUP; and a closed pipe is an error
/// of the write, not a signal.
void installSignalHandlers();

/// The signal that was noted; 0: none.
int stopSignal();

/// Notes a signal as if it had come.
void requestStop(int signal);

} // namespace shardc::runtime

#endif
