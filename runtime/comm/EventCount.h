// An event count waits for a condition over atomics without missing its change,
// and without holding a lock: it spins a little, then sleeps.
#ifndef SHARDC_RUNTIME_COMM_EVENTCOUNT_H
#define SHARDC_RUNTIME_COMM_EVENTCOUNT_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shardc::runtime {

class EventCount {
public:
  /// Must be called after the condition has changed.
  void notify() {
    epoch.fetch_add(1);
    epoch.notify_all();
  }

  /// Returns once `condition()` holds. With `spin` it burns the core for a
  /// while first, which is right only where no other thread needs it.
  template <typename Condition> void await(bool spin, Condition condition) {
    if (condition())
      return;
    if (spin && spinUntil(condition))
      return;
    while (true) {
      // The epoch is read before the condition: a change in between raises it,
      // and the wait returns at once.
      uint32_t seen = epoch.load();
      if (condition())
        return;
      epoch.wait(seen);
    }
  }

private:
  /// This is longer than two ranks with equal work are apart, and than a
  /// sleeping thread takes to be woken. Up to 10 ms made no difference to a
  /// step.
  static constexpr std::chrono::microseconds spinTime{200};

  /// Returns false when the time is up.
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
