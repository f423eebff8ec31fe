// Starts the processes of a run on this machine, and sees to it that they end
// together: --nproc-per-node.
#ifndef SHARDC_RUNTIME_LAUNCH_SUPERVISOR_H
#define SHARDC_RUNTIME_LAUNCH_SUPERVISOR_H

#include "runtime/launch/Launch.h"

#include <chrono>
#include <string>
#include <vector>

namespace shardc::runtime {

struct SupervisorOptions {
  /// What each runs, and its arguments, argv[0] among them.
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments;
  /// How long the others may take to end when one has failed.
  std::chrono::milliseconds grace = std::chrono::seconds(8);
  /// The same when one was ended by a signal: nothing is to be saved then.
  std::chrono::milliseconds graceAfterSignal = std::chrono::seconds(4);
};

/// Serves the processes' store, where that is this machine's part, and starts
/// `launch.spawns` processes, each with its place in its environment. Returns
/// the exit code once all of them are gone, also those that they left behind in
/// their process groups.
///
/// - Signals that end a run (Signals.h) go to all of them, SIGHUP unless it is
///   ignored. The second SIGTERM or SIGINT kills them.
/// - When one fails, the others get a time of grace and are then killed; one
///   that a signal has stopped, at once. The exit code is that of the one that
///   failed first, but for those that failed because another did
///   (ExitCode::LostProcess); 128 + N where signal N ended it.
/// - Where that was a fault (a signal that nobody sent through this process, or
///   a lost process), all are started again, `launch.maxRestarts` times at
///   most; after an error of their own, never.
/// - When this process dies, in whatever way, so do they.
///
/// What they write to stderr is printed as SaidLines.h says. Call it before any
/// other thread is there.
int supervise(const Launch &launch, const SupervisorOptions &options);

} // namespace shardc::runtime

#endif
