// Contexts, streams and events. A stream is a thread with a queue.
#ifndef SHARDC_TEST_EMULATEDCUDA_DRIVER_STREAM_H
#define SHARDC_TEST_EMULATEDCUDA_DRIVER_STREAM_H

#include "Task.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <thread>

namespace shardc::test::cuda {

class Capture;
class Stream;

/// Guards what calls of the driver share: clocks, handles, captures. No stream's
/// thread holds it while it runs something.
extern std::mutex driverMutex;

/// The primary context of a device.
struct Context {
  int device = 0;
  int users = 0; // cuDevicePrimaryCtxRetain
  std::atomic<CUresult> error = CUDA_SUCCESS;
  std::set<CUstream> streams;
  std::atomic<uint64_t> launches = 0;
  bool hasLaunchedGraphs = false;

  /// The first error stays.
  void fail(CUresult result) {
    CUresult none = CUDA_SUCCESS;
    error.compare_exchange_strong(none, result);
  }
};

/// A point in a stream.
struct Record {
  std::atomic<bool> done = false;
  std::chrono::steady_clock::time_point time;
  Clock clock;

  void complete() {
    time = std::chrono::steady_clock::now();
    done = true;
    done.notify_all();
  }
  void wait() const { done.wait(false); }
};

struct Event {
  Context *context = nullptr;
  bool timed = true;
  std::shared_ptr<Record> record; // null before the first
  /// For mutants: what its stream had last.
  std::string behind = "nothing";
  /// Recorded in a capture: what it stands for there.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> nodes;
};

class Stream {
public:
  explicit Stream(Context &context);
  ~Stream() { finish(); }

  /// Waits for what is enqueued; nothing may come behind it.
  void finish();

  // With driverMutex held:

  void enqueue(std::shared_ptr<const Action> action);
  std::shared_ptr<Record> record();
  void await(std::shared_ptr<const Record> record);
  bool isIdle();

  Context &context;
  /// Set while it is captured.
  std::shared_ptr<Capture> capture;
  std::string last = "nothing"; // for mutants: what was enqueued
  /// In clocks.
  const uint32_t place;
  Clock clock;

private:
  void push(std::function<void()> entry);
  void work();
  void delay();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool ends = false, busy = false;
  uint32_t time = 0;
  ptx::Blocks blocks;
  std::mt19937_64 random;
  std::thread worker;
};

/// What the host has waited for on a device. Its threads have one clock: that one
/// of them goes on behind another is not seen here. With driverMutex held.
Clock &hostClock(int device);
/// From now on also what the clock knows, on the current device.
void hostKnows(const Clock &clock);
/// Waits for the record, without driverMutex.
void awaitOnHost(const Record &record);

} // namespace shardc::test::cuda

struct shardc::cuda::CUctx_st : shardc::test::cuda::Context {};
struct shardc::cuda::CUstream_st : shardc::test::cuda::Stream {
  using Stream::Stream;
};
struct shardc::cuda::CUevent_st : shardc::test::cuda::Event {};

#endif
