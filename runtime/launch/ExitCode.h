// What a program ends with, as docs/running.md and docs/launching.md say it.
#ifndef SHARDC_RUNTIME_LAUNCH_EXITCODE_H
#define SHARDC_RUNTIME_LAUNCH_EXITCODE_H

namespace shardc::runtime {

enum ExitCode : int {
  Done = 0,
  /// An error that would come again: of flags, of data, of outputs.
  BadInput = 1,
  /// The run is complete, but not as good as it should be.
  UnmetExpectation = 3,
  /// Of a process that ended because another one had, or did not answer: not
  /// the cause, and what a run may be started again after.
  LostProcess = 4,
  /// --selftest-min: collectives are slower than that.
  SlowCollectives = 44,
};

/// Of a process that a signal ended, as shells have it.
constexpr int exitCodeOf(int signal) { return 128 + signal; }

} // namespace shardc::runtime

#endif
