// SIGINT and SIGTERM end a run after the step that is under way.
#include "runtime/launch/Signals.h"

#include <atomic>
#include <csignal>

namespace shardc::runtime {

static std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void installSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { noted = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int stopSignal() { return noted.load(); }

} // namespace shardc::runtime
