// Records, barriers and aborts of ranks that are threads.
#include "runtime/comm/ThreadGroup.h"

namespace shardc::runtime {

ThreadProcess::ThreadProcess(int ranks, bool spin) : ranks(ranks), spin(spin) {}
ThreadProcess::~ThreadProcess() = default;

ThreadGroup &ThreadProcess::group(int base, int stride, int size) {
  std::lock_guard lock(mutex);
  std::unique_ptr<ThreadGroup> &group = groups[{base, stride, size}];
  if (!group)
    group = std::make_unique<ThreadGroup>(*this, base, stride, size);
  return *group;
}

void ThreadProcess::abort(int rank, const std::string &reason) {
  std::lock_guard lock(mutex);
  if (aborted)
    return;
  abortReason = "rank " + std::to_string(rank) + " gave up: " + reason;
  aborted = true;
  for (auto &[members, group] : groups)
    group->wakeAll();
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

ThreadOperation &ThreadGroup::operation(uint64_t number) {
  std::lock_guard lock(mutex);
  while (first + open.size() <= number) {
    if (unused.empty()) {
      records.push_back(std::make_unique<ThreadOperation>(size));
      unused.push_back(records.back().get());
    }
    open.push_back(unused.back());
    unused.pop_back();
  }
  return *open[number - first];
}

void ThreadGroup::retire(uint64_t number) {
  std::lock_guard lock(mutex);
  ThreadOperation *&slot = open[number - first];
  slot->reset();
  unused.push_back(slot);
  slot = nullptr;
  while (!open.empty() && !open.front()) {
    open.pop_front();
    ++first;
  }
}

void ThreadGroup::barrier() {
  uint32_t passed = barriersPassed.load();
  if (atBarrier.fetch_add(1) + 1 == size) {
    atBarrier = 0;
    barriersPassed.fetch_add(1);
    barrierEvent.notify();
  }
  process.await(barrierEvent, [&] { return barriersPassed.load() != passed; });
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
  std::lock_guard lock(mutex);
  for (ThreadOperation *operation : open)
    if (operation)
      operation->event.notify();
  barrierEvent.notify();
}

} // namespace shardc::runtime
