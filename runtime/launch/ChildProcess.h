// A process that a Supervisor has started.
#ifndef SHARDC_RUNTIME_LAUNCH_CHILDPROCESS_H
#define SHARDC_RUNTIME_LAUNCH_CHILDPROCESS_H

#include "runtime/files/Descriptor.h"
#include "runtime/launch/Launch.h"

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace shardc::runtime {

class ChildProcess {
public:
  /// Starts `program`, in a process group of its own (a terminal's signals
  /// reach the supervisor alone, which passes them on once), without stdin,
  /// with `added` in its environment, the signals of `unblocked` unblocked, and
  /// dying with this process. Throws an Error where it cannot be started.
  /// `process`: its number.
  ChildProcess(int process, const std::string &program,
               const std::vector<std::string> &arguments,
               const Environment &added, const sigset_t &unblocked);
  ChildProcess(ChildProcess &&other) noexcept;
  /// Kills it with its group, where it runs.
  ~ChildProcess();

  int process() const { return number; }
  pid_t id() const { return pid; }
  bool isRunning() const { return running; }
  /// Where its stderr can be read; negative: it has come to its end.
  int errors() const { return output.get(); }
  /// The lines that have come there; `all`: also a last one without an end.
  std::vector<std::string> takeLines(bool all);

  /// Whether it has ended; it is no more then, nor its group.
  bool reap();
  /// Whether a signal has stopped it, and it has not gone on.
  bool isStopped() const;
  /// As waitpid() gives it.
  int status() const { return endStatus; }
  void signal(int signal) const;
  /// With its group.
  void kill();
  bool wasKilled() const { return killed; }

private:
  int number;
  pid_t pid = -1;
  bool running = false, killed = false; // by this process
  int endStatus = 0;
  Descriptor output;
  std::string line; // that has no end yet
};

} // namespace shardc::runtime

#endif
