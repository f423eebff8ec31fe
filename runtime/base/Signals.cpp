// A handler that notes the last signal, for whoever asks between two steps.
#include "runtime/base/Signals.h"

#include <atomic>

namespace shardc::runtime {

static std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void installSignalHandlers() {
  for (int signal : endingSignals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // Under nohup a run outlives its terminal.
    if (signal == SIGHUP && before.sa_handler == SIG_IGN)
      continue;
    struct sigaction action = {};
    action.sa_handler = [](int number) { noted = number; };
    action.sa_flags = SA_RESTART;
    // A terminal that goes away is said twice, by the system and by the shell.
    if (signal != SIGHUP)
      action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

int stopSignal() { return noted.load(); }

void requestStop(int signal) { noted = signal; }

} // namespace shardc::runtime
