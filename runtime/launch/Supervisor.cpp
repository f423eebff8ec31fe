// Starts the processes of a run on this machine, and ends them together.
#include "runtime/launch/Supervisor.h"

#include "runtime/base/Signals.h"
#include "runtime/base/Text.h"
#include "runtime/launch/ChildProcess.h"
#include "runtime/launch/ExitCode.h"
#include "runtime/launch/SaidLines.h"
#include "runtime/store/TcpStoreServer.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardc::runtime {

namespace {

void say(const std::string &text) {
  std::fflush(stdout);
  std::fprintf(stderr, "trainer: %s\n", text.c_str());
}

/// Signals come as a file that is polled, from here to the end of the program:
/// none is lost, and none interrupts.
class Signals {
public:
  Signals() {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    for (int signal : endingSignals) {
      struct sigaction action = {};
      sigaction(signal, nullptr, &action);
      // Under nohup a run outlives its terminal.
      if (signal == SIGHUP && action.sa_handler == SIG_IGN)
        continue;
      sigaddset(&mask, signal);
    }
    sigprocmask(SIG_BLOCK, &mask, &before);
    file = Descriptor(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!file)
      failErrno("cannot wait for signals");
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before, nullptr); }

  int get() const { return file.get(); }
  /// The next one; 0: there is none.
  int next() {
    signalfd_siginfo info;
    return read(file.get(), &info, sizeof(info)) == sizeof(info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }
  const sigset_t &usual() const { return before; }

private:
  sigset_t before;
  Descriptor file;
};

/// How a process ended, in words: "was killed by signal 9 (Killed)".
std::string endText(int status) {
  if (WIFSIGNALED(status))
    return concat("was ended by signal ", WTERMSIG(status), " (",
                  strsignal(WTERMSIG(status)), ")");
  return concat("ended with exit code ", WEXITSTATUS(status));
}

int codeOf(int status) {
  return WIFSIGNALED(status) ? exitCodeOf(WTERMSIG(status))
                             : WEXITSTATUS(status);
}

/// Whether the others cannot go on. A run that was told to stop, or did not
/// come up to what was expected, ends in all processes by itself, and what is
/// still saved or exported may take its time.
bool endsTheRun(int status) {
  if (WIFSIGNALED(status))
    return true;
  for (int signal : endingSignals)
    if (WEXITSTATUS(status) == exitCodeOf(signal))
      return false;
  return WEXITSTATUS(status) != UnmetExpectation;
}

/// Whether a run may do better the next time.
bool isFault(int status) {
  if (!WIFSIGNALED(status))
    return WEXITSTATUS(status) == LostProcess;
  return std::ranges::find(endingSignals, WTERMSIG(status)) ==
         std::end(endingSignals);
}

/// All processes of this machine, once.
class Attempt {
public:
  Attempt(const Launch &launch, const SupervisorOptions &options,
          const StoreAddress &store, int restarts, Signals &signals)
      : options(options), signals(signals) {
    for (int local = 0; local < launch.spawns; ++local)
      children.emplace_back(
          launch.process + local, options.program, options.arguments,
          spawnedEnvironment(launch, local, store, restarts), signals.usual());
  }

  /// Waits until all are gone.
  void run();

  /// The process whose end is the run's; none: all ended well.
  struct Failure {
    int process, status;
  };
  const std::optional<Failure> &failure() const { return failed; }
  bool wasStopped() const { return stopped; }

private:
  bool anyRuns() const {
    return std::any_of(children.begin(), children.end(),
                       [](const ChildProcess &c) { return c.isRunning(); });
  }
  void take(int signal);
  void reap();
  void killStopped();
  void wait();

  const SupervisorOptions &options;
  Signals &signals;
  std::vector<ChildProcess> children;
  SaidLines lines;
  std::optional<Failure> failed;
  Deadline killAt = Deadline::max();
  bool killed = false;
  bool stopped = false;
  int ends = 0; // signals that say so
};

void Attempt::take(int signal) {
  if (signal == SIGCHLD)
    return;
  stopped = true;
  // They may have lost the first one's handler, or not have had it yet.
  if ((signal == SIGTERM || signal == SIGINT) && ++ends > 1) {
    killAt = Clock::now();
    return;
  }
  for (const ChildProcess &child : children)
    child.signal(signal);
}

void Attempt::reap() {
  for (ChildProcess &child : children) {
    if (!child.reap())
      continue;
    int status = child.status();
    lines.take(child.process(), child.takeLines(true));
    lines.hasEnded(child.process(), codeOf(status) == LostProcess);
    if (status == 0)
      continue;
    if (endsTheRun(status))
      killAt = std::min(killAt, Clock::now() + (WIFSIGNALED(status)
                                                    ? options.graceAfterSignal
                                                    : options.grace));
    // What this process has killed is no cause, nor is one that another's end
    // has ended.
    bool isCause =
        !failed || (codeOf(failed->status) == LostProcess &&
                    codeOf(status) != LostProcess && !child.wasKilled());
    if (isCause)
      failed = {child.process(), status};
  }
}

/// The others' time of grace is of no use to who does not run.
void Attempt::killStopped() {
  for (ChildProcess &child : children)
    if (child.isStopped()) {
      say(concat("process ", child.process(),
                 ", which a signal has stopped, is killed"));
      child.kill();
    }
}

void Attempt::wait() {
  std::vector<pollfd> polled = {{signals.get(), POLLIN, 0}};
  for (const ChildProcess &child : children)
    polled.push_back({child.errors(), POLLIN, 0});
  int time = -1;
  if (!killed && killAt != Deadline::max()) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(killAt - Clock::now());
    time = static_cast<int>(std::max<int64_t>(0, left.count()));
  }
  poll(polled.data(), polled.size(), time);
}

void Attempt::run() {
  while (anyRuns()) {
    wait();
    while (int signal = signals.next())
      take(signal);
    for (ChildProcess &child : children)
      lines.take(child.process(), child.takeLines(false));
    reap();
    if (!killed && killAt != Deadline::max())
      killStopped();
    if (!killed && Clock::now() >= killAt) {
      killed = true;
      for (ChildProcess &child : children)
        child.kill();
    }
  }
  lines.end();
}

} // namespace

int supervise(const Launch &launch, const SupervisorOptions &options) {
  Signals signals;
  for (int restarts = 0;; ++restarts) {
    // A store for each attempt: nothing that the last one said is left.
    std::unique_ptr<TcpStoreServer> server;
    StoreAddress store = launch.store;
    if (launch.nodes == 1) {
      server = std::make_unique<TcpStoreServer>(
          0, launch.job, TcpStoreServer::Reach::ThisHost);
      store = {"127.0.0.1", server->port(), 1};
    } else if (launch.node == 0)
      server = std::make_unique<TcpStoreServer>(store.port, launch.job);
    Attempt attempt(launch, options, store, restarts, signals);
    attempt.run();
    const auto &failure = attempt.failure();
    if (!failure)
      return Done;
    std::string what =
        concat("process ", failure->process, " ", endText(failure->status));
    bool again = isFault(failure->status) && !attempt.wasStopped();
    if (!again || restarts == launch.maxRestarts) {
      if (again || WIFSIGNALED(failure->status))
        say("error: " + what +
            (launch.maxRestarts > 0 && again
                 ? concat("; this was restart ", restarts, " of ",
                          launch.maxRestarts)
                 : ""));
      return codeOf(failure->status);
    }
    say(concat("warning: ", what, "; all ", launch.spawns,
               " processes are started again (restart ", restarts + 1, " of ",
               launch.maxRestarts, ")"));
  }
}

} // namespace shardc::runtime
