// Records, barriers and aborts of ranks that are threads.
#include "runtime/comm/ThreadGroup.h"

namespace shardc::runtime {

ThreadProcess::ThreadProcess(int ranks, bool spin,
                             std::function<void(const std::string &)> onAbort)
    : ranks(ranks), spin(spin), notes(ranks), onAbort(std::move(onAbort)) {}
ThreadProcess::~ThreadProcess() = default;

ThreadGroup &ThreadProcess::group(int base, int stride, int size) {
  std::lock_guard lock(mutex);
  std::unique_ptr<ThreadGroup> &group = groups[{base, stride, size}];
  if (!group)
    group = std::make_unique<ThreadGroup>(*this, base, stride, size);
  return *group;
}

void ThreadProcess::abort(int rank, const std::string &reason) {
  std::string text = concat("rank ", rank, place, " gave up: ", reason);
  {
    std::lock_guard lock(mutex);
    if (aborted)
      return;
    failed = true;
  }
  abort(text);
  if (onAbort)
    onAbort(text);
}

void ThreadProcess::abort(const std::string &text) {
  std::lock_guard lock(mutex);
  if (aborted)
    return;
  abortReason = text;
  aborted = true;
  for (auto &[members, group] : groups)
    group->wakeAll();
  for (const std::function<void()> &wake : wakes)
    wake();
}

void ThreadProcess::onWake(std::function<void()> wake) {
  std::lock_guard lock(mutex);
  wakes.push_back(std::move(wake));
}

std::string ThreadProcess::reasonOfAbort() {
  std::lock_guard lock(mutex);
  return abortReason;
}

void ThreadProcess::throwAborted() {
  awaitIdle();
  std::lock_guard lock(mutex);
  throw Aborted(abortReason);
}

void ThreadProcess::awaitIdle() {
  idleEvent.await(spin, [&] { return working.load() == 0; });
}

bool ThreadProcess::enterWork() {
  working.fetch_add(1);
  if (!aborted)
    return true;
  leaveWork();
  return false;
}
void ThreadProcess::leaveWork() {
  if (working.fetch_sub(1) == 1 && aborted)
    idleEvent.notify();
}

void ThreadGroup::barrier(RankNote &note) {
  uint32_t passed = barriersPassed.load();
  if (atBarrier.fetch_add(1) + 1 == size) {
    atBarrier = 0;
    barriersPassed.fetch_add(1);
    barrierEvent.notify();
  }
  process.await(note, barrierEvent,
                [&] { return barriersPassed.load() != passed; });
}

std::shared_ptr<Memory>
ThreadGroup::memory(uint64_t number, const std::string &name, int64_t bytes) {
  std::lock_guard lock(mutex);
  SharedAllocation &allocation = allocations[number];
  if (!allocation.memory)
    allocation.memory = std::make_shared<Memory>(Memory::allocate(name, bytes));
  std::shared_ptr<Memory> memory = allocation.memory;
  if (memory->size() != bytes)
    fail("ranks disagree about the ", name, ": ", memory->size(), " and ",
         bytes, " bytes");
  if (++allocation.ranks == size)
    allocations.erase(number);
  return memory;
}

void ThreadGroup::wakeAll() {
  records.wakeAll();
  barrierEvent.notify();
}

} // namespace shardc::runtime
