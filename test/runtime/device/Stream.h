// Work that a device does later: queues on threads, and what one of them waits
// for another to do.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_STREAM_H
#define SHARDC_TEST_RUNTIME_DEVICE_STREAM_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace shardc::runtime {

/// Runs what is queued in order, on a thread.
class Stream {
public:
  Stream() : thread([this] { work(); }) {}
  ~Stream() {
    {
      std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_all();
    thread.join();
  }
  /// `otherwise`: what is done in its place once a task has failed.
  void push(std::function<void()> task, std::function<void()> otherwise = {}) {
    {
      std::lock_guard lock(mutex);
      tasks.push_back({std::move(task), std::move(otherwise)});
      ++queued;
    }
    changed.notify_all();
  }
  /// Waits until everything queued so far is done; throws what a task threw.
  void settle() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished == queued; });
    if (failure)
      std::rethrow_exception(std::exchange(failure, nullptr));
  }

private:
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ending || !tasks.empty(); });
      if (tasks.empty())
        return;
      auto [task, otherwise] = std::move(tasks.front());
      tasks.pop_front();
      std::function<void()> &done = hasFailed ? otherwise : task;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        if (done)
          done();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !hasFailed) {
        failure = thrown;
        hasFailed = true;
      }
      ++finished;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::function<void()>, std::function<void()>>> tasks;
  int64_t queued = 0, finished = 0;
  std::exception_ptr failure; // not yet thrown
  bool hasFailed = false, ending = false;
  std::thread thread; // behind what it uses
};

/// Something that one stream waits for the other to do.
class Event {
public:
  void set() {
    {
      std::lock_guard lock(mutex);
      isSet = true;
    }
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return isSet; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isSet = false;
};

} // namespace shardc::runtime

#endif
