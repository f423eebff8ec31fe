// Waiting for a condition over atomics without missing its change, and without
// holding a lock: spin a little, then sleep.
#ifndef SHARDC_RUNTIME_COMM_EVENTCOUNT_H
#define SHARDC_RUNTIME_COMM_EVENTCOUNT_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shardc::runtime {

class EventCount {
public:
  /// To be called after the condition has changed.
  void notify() {
    epoch.fetch_add(1);
    epoch.notify_all();
  }

  /// Returns once `condition()` holds. `spin`: burn the core for a while first;
  /// right only where no other thread needs it.
  template <typename Condition> void await(bool spin, Condition condition) {
    if (condition())
      return;
    if (spin && spinUntil(condition))
      return;
    while (true) {
      // Read before the condition: a change in between raises the epoch, and
      // the wait returns at once.
      uint32_t seen = epoch.load();
      if (condition())
        return;
      epoch.wait(seen);
    }
  }

private:
  /// Longer than two ranks with equal work are apart, and than a sleeping
  /// thread takes to be woken. Up to 10 ms made no difference to a step.
  static constexpr std::chrono::microseconds spinTime{200};

  /// False when the time is up.
  template <typename Condition> static bool spinUntil(Condition &condition) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin = Clock::now();
    for (int round = 1;; ++round) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      if (condition())
        return true;
      if (round % 64 == 0 && Clock::now() - begin > spinTime)
        return false;
    }
  }

  std::atomic<uint32_t> epoch{0};
};

} // namespace shardc::runtime

#endif
