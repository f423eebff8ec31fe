// SIGINT and SIGTERM end a run after the step that is under way.
#ifndef SHARDC_RUNTIME_LAUNCH_SIGNALS_H
#define SHARDC_RUNTIME_LAUNCH_SIGNALS_H

namespace shardc::runtime {

/// From now on SIGINT and SIGTERM are noted, a second one kills; and a closed
/// pipe or a file size limit is an error of the write, not a signal.
void installSignalHandlers();

/// The signal that was noted; 0: none.
int stopSignal();

} // namespace shardc::runtime

#endif
