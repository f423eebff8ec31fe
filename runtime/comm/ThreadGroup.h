// What the ranks of a process share: whether one gave up, and, by group of
// ranks, the records of its collectives and its barrier.
#ifndef SHARDC_RUNTIME_COMM_THREADGROUP_H
#define SHARDC_RUNTIME_COMM_THREADGROUP_H

#include "runtime/base/Memory.h"
#include "runtime/comm/OperationRecords.h"
#include "runtime/comm/RankNote.h"
#include "runtime/comm/ThreadOperation.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace shardc::runtime {

class ThreadGroup;

/// Giving up is for all groups: a rank that waits in one may do so for another
/// that is stuck elsewhere, and buffers belong to no group.
class ThreadProcess {
public:
  /// `onAbort`: called with the reason when a rank of this process is the first
  /// to give up.
  ThreadProcess(int ranks, bool spin,
                std::function<void(const std::string &)> onAbort = {});
  ~ThreadProcess();

  const int ranks;
  const bool spin;

  /// Returns the group with these members (of the world); the first rank that
  /// asks for it makes it.
  ThreadGroup &group(int base, int stride, int size);

  void abort(int rank, const std::string &reason);
  /// What messages say of where a rank is: " (on node1)".
  std::string place;
  /// The same, for what happened elsewhere: `text` says to whom.
  void abort(const std::string &text);
  /// Wakes all ranks of a group that is not of threads alone.
  void onWake(std::function<void()> wake);
  bool isAborted() const { return aborted; }
  /// Its reason; empty where nobody has given up.
  std::string reasonOfAbort();
  /// Whether a rank of this process was the first that it heard of.
  bool hasFailed() const { return failed; }
  /// Throws, but not before every rank has stopped using the others' buffers,
  /// which may be freed next.
  [[noreturn]] void throwAborted();
  void awaitIdle();

  /// That of a rank of the world which is here.
  RankNote &note(int rank) { return notes[rank]; }

  /// Waits for `condition` or an abort, which the waiting rank notes; throws on
  /// an abort.
  template <typename Condition>
  void await(RankNote &note, EventCount &event, Condition condition) {
    if (condition())
      return;
    bool holds = false;
    note.waits(true);
    event.await(spin, [&] { return (holds = condition()) || aborted; });
    note.waits(false);
    if (!holds)
      throwAborted();
  }

  /// Bracket work on other ranks' buffers; enterWork() is false after an abort.
  bool enterWork();
  void leaveWork();

private:
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::unique_ptr<ThreadGroup>> groups;
  std::vector<RankNote> notes; // by rank
  std::vector<std::function<void()>> wakes;
  std::function<void(const std::string &)> onAbort;
  std::atomic<bool> aborted{false}, failed{false};
  std::string abortReason;
  std::atomic<int> working{0}; // ranks inside enterWork .. leaveWork
  EventCount idleEvent;
};

/// The ranks base + k * stride, 0 <= k < size, of the world.
class ThreadGroup {
public:
  ThreadGroup(ThreadProcess &process, int base, int stride, int size)
      : process(process), base(base), stride(stride), size(size),
        records(size) {}

  ThreadProcess &process;
  const int base, stride, size;

  int worldRank(int member) const { return base + member * stride; }

  ThreadOperation &operation(uint64_t number) { return records.at(number); }
  void retire(uint64_t number) { records.retire(number); }
  /// `note`: that of the rank which has come.
  void barrier(RankNote &note);
  /// Returns the memory with this number, which the first rank that asks for it
  /// allocates.
  std::shared_ptr<Memory> memory(uint64_t number, const std::string &name,
                                 int64_t bytes);
  /// Wakes all ranks that wait, after an abort.
  void wakeAll();

private:
  std::mutex mutex;
  OperationRecords<ThreadOperation> records;
  /// Memory that some ranks have taken, and not yet all.
  struct SharedAllocation {
    std::shared_ptr<Memory> memory;
    int ranks = 0; // that have taken it
  };
  std::map<uint64_t, SharedAllocation> allocations; // by number
  std::atomic<int> atBarrier{0};
  std::atomic<uint32_t> barriersPassed{0};
  EventCount barrierEvent;
};

} // namespace shardc::runtime

#endif
