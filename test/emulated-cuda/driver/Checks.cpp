// Checks of accesses, by a table beside the memory.
#include "Checks.h"

#include "Findings.h"
#include "Settings.h"
#include "test/emulated-cuda/ptx/Thread.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>

namespace shardc::test::cuda {

namespace {

using ptx::deviceMemory;
using ptx::deviceMemoryBytes;

using ptx::granules;

constexpr uint64_t granulesBytes = 2 * deviceMemoryBytes;
constexpr uint32_t group = uint32_t(1) << 31, mostTasks = group / 16;

Granule &granuleOf(CUdeviceptr address) {
  return reinterpret_cast<Granule *>(granules)[(address - deviceMemory) / 4];
}
CUdeviceptr addressOf(const Granule &granule) {
  return deviceMemory + (reinterpret_cast<uint64_t>(&granule) - granules) /
                            sizeof(Granule) * 4;
}
// Tasks that are not ordered change a granule at the same time: what one of them
// finds may be lost, but nothing is found that is not there.
uint32_t load(const uint32_t &word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
void store(uint32_t &word, uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

/// Where a task stands in clocks, for whoever reads its number in a granule.
struct TaskFacts {
  uint32_t place, time;
  int device;
  const std::string *name;
};

class TaskTable {
public:
  static TaskTable &instance() {
    static auto *table = new TaskTable;
    return *table;
  }

  uint32_t append(uint32_t place, uint32_t time, int device,
                  const std::string &name) {
    std::lock_guard lock(mutex);
    if (count == mostTasks)
      finding("a process may enqueue " + std::to_string(mostTasks) +
              " tasks, while accesses are checked");
    uint32_t number = count++;
    TaskFacts *&chunk = chunks[number / chunkSize];
    if (!chunk)
      chunk = new TaskFacts[chunkSize];
    chunk[number % chunkSize] = {place, time, device,
                                 &*names.insert(name).first};
    return number;
  }
  /// Of a task that has been appended before it could be met.
  const TaskFacts &at(uint32_t number) const {
    return chunks[number / chunkSize][number % chunkSize];
  }

private:
  static constexpr uint32_t chunkSize = 1 << 14;
  std::mutex mutex;
  std::set<std::string> names;
  uint32_t count = 1; // 0 is no task
  TaskFacts *chunks[mostTasks / chunkSize] = {};
};

/// Groups of readers that are not ordered to each other.
class Groups {
public:
  static Groups &instance() {
    static auto *groups = new Groups;
    return *groups;
  }
  std::vector<uint32_t> tasks(uint32_t readers) {
    if (!(readers & group))
      return {readers / 16};
    std::lock_guard lock(mutex);
    return all[readers & ~group];
  }
  uint32_t of(std::vector<uint32_t> tasks) {
    std::lock_guard lock(mutex);
    auto [found, isNew] = numbers.try_emplace(tasks, uint32_t(all.size()));
    if (isNew)
      all.push_back(std::move(tasks));
    return group | found->second;
  }

private:
  std::mutex mutex;
  std::vector<std::vector<uint32_t>> all;
  std::map<std::vector<uint32_t>, uint32_t> numbers;
};

} // namespace

void reserveGranules() {
  void *wanted = reinterpret_cast<void *>(granules);
  if (mmap(wanted, granulesBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
           -1, 0) != wanted)
    finding("something else lies where the emulated driver checks accesses");
  madvise(wanted, granulesBytes, MADV_DONTDUMP);
}

void forgetGranules(CUdeviceptr begin, size_t bytes) {
  madvise(&granuleOf(begin), bytes * 2, MADV_DONTNEED);
}

void prepareGranules(CUdeviceptr begin, size_t bytes) {
  // Kernels that know no such advice go on with faults.
  constexpr size_t large = size_t(4) << 20;
  madvise(&granuleOf(begin), bytes * 2,
          bytes < large ? MADV_POPULATE_WRITE : MADV_HUGEPAGE);
}

void registerTask(Task &task, uint32_t place, uint32_t time, int device) {
  task.number =
      TaskTable::instance().append(place, time, device, task.action->name);
}

std::string describeTask(uint32_t task) {
  const TaskFacts &of = TaskTable::instance().at(task);
  return "'" + *of.name + "' in stream " + std::to_string(of.place) +
         " of device " + std::to_string(of.device);
}

AccessCheck::AccessCheck(const Task &task, int device,
                         const ptx::LoadedKernel *kernel)
    : task(task), kernel(kernel),
      deviceBegin(deviceMemory + uint64_t(device) * bytesOfDevice),
      own(task.number * 16) {}

[[gnu::always_inline]] inline bool AccessCheck::isBefore(uint32_t other,
                                                         uint32_t &known) {
  if (other == known || other == task.number)
    return true;
  const TaskFacts &of = TaskTable::instance().at(other);
  if (task.clock.at(of.place) < of.time)
    return false;
  known = other;
  return true;
}

uint32_t AccessCheck::unorderedReader(uint32_t readers) {
  if (!(readers & group))
    return isBefore(readers / 16, orderedReader) ? 0 : readers / 16;
  for (uint32_t each : Groups::instance().tasks(readers))
    if (!isBefore(each, orderedReader))
      return each;
  return 0;
}

/// The readers and this task, without those that are before it.
uint32_t AccessCheck::withReader(uint32_t readers) {
  if (readers == groupBefore)
    return groupWith;
  std::vector<uint32_t> tasks = {task.number};
  for (uint32_t each : Groups::instance().tasks(readers))
    if (!isBefore(each, orderedReader))
      tasks.push_back(each);
  std::sort(tasks.begin(), tasks.end());
  groupBefore = readers;
  groupWith = Groups::instance().of(std::move(tasks));
  return groupWith;
}

void AccessCheck::wrong(const std::string &what, CUdeviceptr address) {
  finding(describeTask(task.number) + " " + what + ": " +
          describeAddress(address) +
          (statement ? std::string(" (") + statement + ")" : ""));
}

/// Says how far the same holds of what follows.
void AccessCheck::race(const Granule &granule, uint32_t other, const char *does,
                       const char *did) {
  CUdeviceptr begin = addressOf(granule), end = begin + 4;
  auto isSame = [&](const Granule &next) {
    return next.writer / 16 == other || next.readers / 16 == other;
  };
  while (isAllocated(end, 4) && isSame(granuleOf(end)))
    end += 4;
  finding("race: " + describeTask(task.number) + " " + does + " " +
          std::to_string(end - begin) + " bytes that " + describeTask(other) +
          " " + did + ", and nothing orders them: " + describeAddress(begin) +
          (statement ? std::string(" (") + statement + ")" : ""));
}

/// Of a granule of which nothing is known.
void AccessCheck::checkAllocated(const Granule &granule) {
  CUdeviceptr address = addressOf(granule);
  if (address - allocation.begin < allocation.bytes)
    return;
  std::optional<Allocation> found = allocationOf(address);
  if (!found || found->freed)
    wrong("touches what is not allocated", address);
  allocation = *found;
}

[[gnu::always_inline]] inline void AccessCheck::read(Granule &granule,
                                                     uint32_t mask) {
  uint32_t readers = load(granule.readers);
  if (readers == (own | 15) || (readers == groupWith && readers))
    return; // was checked, all four bytes
  uint32_t writer = load(granule.writer);
  if ((writer & mask) != mask) [[unlikely]] {
    if (writer == 0)
      checkAllocated(granule);
    wrong("reads what nobody has written", addressOf(granule));
  }
  if (!isBefore(writer / 16, orderedWriter)) [[unlikely]]
    race(granule, writer / 16, "reads", "writes");
  if (!(readers & group) &&
      (!readers || isBefore(readers / 16, orderedReader))) {
    uint32_t same = (readers ^ own) < 16 ? readers : 0;
    store(granule.readers, own | same | mask);
  } else if (!unorderedReader(readers))
    store(granule.readers, own | mask);
  else
    store(granule.readers, withReader(readers));
}

[[gnu::always_inline]] inline void AccessCheck::write(Granule &granule,
                                                      uint32_t mask) {
  uint32_t writer = load(granule.writer), readers = load(granule.readers);
  if ((writer & (~uint32_t(15) | mask)) == (own | mask) && readers == 0)
    return;
  if (writer == 0) [[unlikely]]
    checkAllocated(granule);
  else if (!isBefore(writer / 16, orderedWriter)) [[unlikely]]
    race(granule, writer / 16, "writes", "writes");
  if (readers && ((readers & group) || !isBefore(readers / 16, orderedReader)))
    if (uint32_t other = unorderedReader(readers))
      race(granule, other, "writes", "reads");
  store(granule.writer, own | (writer & 15) | mask);
  if (readers)
    store(granule.readers, 0);
}

void AccessCheck::check(CUdeviceptr begin, size_t bytes, bool reads,
                        bool writes) {
  CUdeviceptr end = begin + bytes;
  for (CUdeviceptr at = begin & ~CUdeviceptr(3); at < end; at += 4) {
    uint32_t mask = 15;
    if (at < begin)
      mask &= 15u << (begin - at);
    if (end - at < 4)
      mask &= 15u >> (4 - (end - at));
    Granule &granule = granuleOf(at);
    if (reads)
      read(granule, mask);
    if (writes)
      write(granule, mask);
  }
}

void *AccessCheck::access(ptx::Thread *thread, uint64_t address, uint32_t kind,
                          const char *statement) {
  auto &check = *static_cast<AccessCheck *>(thread->user);
  uint32_t bytes = kind & ptx::accessBytes;
  if (address & (bytes - 1)) [[unlikely]] // they are a power of two
    thread->services->misaligned(thread, statement);
  if (address - check.deviceBegin >= bytesOfDevice) [[unlikely]]
    return check.foreign(thread, address, kind, statement);
  check.statement = statement;
  bool reads = kind & ptx::accessReads, writes = kind & ptx::accessWrites;
  if (bytes == 4) [[likely]] {
    Granule &granule = granuleOf(address);
    if (reads)
      check.read(granule, 15);
    if (writes)
      check.write(granule, 15);
  } else
    check.check(address, bytes, reads, writes);
  return reinterpret_cast<void *>(address + ptx::kernelMemoryOffset);
}

/// Memory that is none of the device's: pinned memory of the host, constants of
/// the module, what the thread or block has.
void *AccessCheck::foreign(ptx::Thread *thread, uint64_t address, uint32_t kind,
                           const char *where) {
  statement = where;
  uint32_t bytes = kind & ptx::accessBytes;
  auto *at = reinterpret_cast<void *>(address);
  bool isGeneric = kind & ptx::accessGeneric;
  if (isGeneric && ptx::Blocks::isOwn(thread, address, bytes))
    return at;
  if (kernel && !(kind & ptx::accessWrites))
    for (uint32_t i = 0; i < kernel->facts->constants; ++i)
      if (const ptx::ConstantRange &range = kernel->constants[i];
          address - reinterpret_cast<uint64_t>(range.begin) <=
          range.bytes - bytes)
        return at;
  if (isPinned(at, bytes))
    return streamAddress(at);
  wrong(kind & ptx::accessWrites ? "writes what is not its device's memory"
                                 : "reads what is not its device's memory",
        address);
}

void checkAccesses(const Task &task, int device) {
  AccessCheck check(task, device);
  for (const Access &access : task.action->accesses)
    for (size_t row = 0; row < access.rows; ++row) {
      CUdeviceptr begin = access.begin + row * access.stride;
      if (!isAllocated(begin, access.rowBytes))
        finding(describeTask(task.number) +
                " touches what is not allocated: " + describeAddress(begin));
      if (settings().checked)
        check.check(begin, access.rowBytes, !access.writes, access.writes);
    }
}

} // namespace shardc::test::cuda
