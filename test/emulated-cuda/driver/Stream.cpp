// Threads of streams, and the order of what they do.
#include "Stream.h"

#include "Findings.h"
#include "Settings.h"

namespace shardc::test::cuda {

std::mutex driverMutex;

static std::atomic<uint32_t> places = 0;

Clock &hostClock(int device) {
  static auto *clocks = new Clock[16];
  return clocks[device];
}

void awaitOnHost(const Record &record) {
  record.wait();
  std::lock_guard lock(driverMutex);
  hostKnows(record.clock);
}

void hostKnows(const Clock &clock) {
  Clock &host = hostClock(currentDevice());
  host.join(clock);
  giveBack(host);
}

Stream::Stream(Context &context)
    : context(context), place(places++),
      random(settings().delaySeed.value_or(0) * 1000 + place),
      worker([this] { work(); }) {}

void Stream::finish() {
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_one();
  if (worker.joinable())
    worker.join();
}

bool Stream::isIdle() {
  std::lock_guard lock(mutex);
  return queue.empty() && !busy;
}

void Stream::push(std::function<void()> entry) {
  {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(entry));
  }
  changed.notify_one();
}

void Stream::work() {
  for (;;) {
    std::function<void()> next;
    {
      std::unique_lock lock(mutex);
      busy = false;
      changed.wait(lock, [&] { return ends || !queue.empty(); });
      if (queue.empty())
        return;
      next = std::move(queue.front());
      queue.pop_front();
      busy = true;
    }
    if (settings().delaySeed)
      delay();
    next();
  }
}

/// One in eight waits, up to two milliseconds.
void Stream::delay() {
  uint64_t number = random();
  if (number % 8 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(number / 8 % 2000));
}

void Stream::enqueue(std::shared_ptr<const Action> action) {
  auto task = std::make_shared<Task>();
  task->action = std::move(action);
  clock.join(hostClock(context.device));
  clock.set(place, ++time);
  task->clock = clock;
  registerTask(*task, place, time, context.device);
  lend(task->action->host, place, time, task->action->name);
  push([this, task] {
    // What follows an error does not run.
    if (context.error != CUDA_SUCCESS)
      return;
    running = task->action->name.c_str();
    checkAccesses(*task, context.device);
    Running with{*task, blocks, context.device};
    if (CUresult result = task->action->run(with); result != CUDA_SUCCESS)
      context.fail(result);
    running = nullptr;
  });
}

std::shared_ptr<Record> Stream::record() {
  auto made = std::make_shared<Record>();
  clock.join(hostClock(context.device));
  made->clock = clock;
  push([made] { made->complete(); });
  return made;
}

void Stream::await(std::shared_ptr<const Record> record) {
  clock.join(record->clock);
  push([record] { record->wait(); });
}

} // namespace shardc::test::cuda
