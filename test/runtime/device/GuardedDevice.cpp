// Memory mapped twice, checks in program order, and work on two threads.
#include "test/runtime/device/GuardedDevice.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/Bind.h"
#include "test/runtime/device/Operands.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

struct GuardedDevice::Allocation {
  std::string name;
  int64_t bytes = 0;
  std::byte *given = nullptr;  // what the engine has: not to be touched
  std::byte *inside = nullptr; // what the device works on
  size_t mapped = 0;
  /// By byte: the entry that wrote it last ("upload" for the host), null for
  /// none.
  std::vector<const std::string *> writers;

  ~Allocation() {
    if (mapped) {
      munmap(given, mapped);
      munmap(inside, mapped);
    }
  }
};

namespace {

const std::string uploaded = "an upload", zeroed = "the allocation";

/// For the signal handler: what is guarded, of all devices.
struct Guarded {
  std::atomic<const std::byte *> begin{nullptr};
  std::atomic<size_t> bytes{0};
  char name[64];
};
Guarded guarded[256];
std::atomic<int> guardedCount{0};

void onTouch(int, siginfo_t *info, void *) {
  auto *address = static_cast<const std::byte *>(info->si_addr);
  for (int i = 0; i < std::min(guardedCount.load(), 256); ++i) {
    const std::byte *begin = guarded[i].begin;
    if (address < begin || address >= begin + guarded[i].bytes)
      continue;
    const char *parts[] = {"the host touches the device's memory '",
                           guarded[i].name, "'\n"};
    for (const char *part : parts)
      if (write(STDERR_FILENO, part, std::strlen(part)) < 0)
        break;
    _exit(70);
  }
  signal(SIGSEGV, SIG_DFL);
}

void guard(const GuardedDevice::Allocation &allocation) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = onTouch;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
  });
  int index = guardedCount++ % 256;
  std::snprintf(guarded[index].name, sizeof guarded[index].name, "%s",
                allocation.name.c_str());
  guarded[index].bytes = allocation.mapped;
  guarded[index].begin = allocation.given;
}

/// The runs of bytes in a row that a tensor covers.
template <typename Visit>
void forRuns(const Tensor &tensor, const Visit &visit) {
  auto size = static_cast<int64_t>(elementSize(tensor.dtype));
  if (tensor.elements() == 0)
    return;
  if (tensor.contiguous())
    return visit(tensor.data, tensor.elements() * size);
  std::vector<int64_t> index(tensor.rank());
  for (;;) {
    int64_t offset = 0;
    for (int64_t dim = 0; dim < tensor.rank(); ++dim)
      offset += index[dim] * tensor.strides[dim];
    visit(tensor.data + offset * size, size);
    int64_t dim = tensor.rank() - 1;
    while (dim >= 0 && ++index[dim] == tensor.shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

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

class GuardedDevice::Streams {
public:
  /// Of entries that compute, and of collectives.
  Stream compute, communication;
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

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

class GuardedProgram final : public DeviceProgram {
public:
  explicit GuardedProgram(GuardedDevice &device)
      : device(device), draw(device.seed) {}
  /// Work that is under way refers to its entries.
  ~GuardedProgram() override {
    device.communicator.leave();
    try {
      device.settle();
    } catch (const Error &) { // said where the run ended
    }
  }

  void add(PlacedEntry entry) override;
  int64_t size() const override { return std::ssize(entries); }
  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &measurements) override;

private:
  struct Operand {
    Tensor tensor; // as the engine has it
    Access access;
    const char *name;
  };
  struct Bound {
    PlacedEntry placed;
    std::vector<Operand> operands;
    cpu::Task task; // on the device's own addresses
  };
  /// A collective that goes on.
  struct Open {
    const Bound *start;
    bool isDone = false; // its results are there; others may still read
  };

  void check(const Bound &entry);
  void checkAgainst(const Bound &entry, const Operand &operand,
                    const Open &open);
  void markWritten(const Bound &entry);
  [[noreturn]] static void complain(const Bound &entry,
                                    const std::string &text) {
    throw Error(entry.placed.place + ": " + text);
  }

  GuardedDevice &device;
  std::mt19937_64 draw;
  std::vector<std::unique_ptr<Bound>> entries;
  std::map<uint32_t, Open> open; // by id
  /// Starts that communication has not been given yet, in their order.
  struct Held {
    uint32_t id;
    std::function<void()> start;
    int64_t entriesLeft; // that run before it begins, at most
  };
  std::deque<Held> held;

  void release(size_t count);
};

void GuardedProgram::add(PlacedEntry entry) {
  auto bound = std::make_unique<Bound>();
  bound->placed = entry;
  std::visit(
      [&](auto &what) {
        forOperands(what, [&](Tensor &tensor, Access access, const char *name) {
          bound->operands.push_back({tensor, access, name});
          int64_t first = 0, last = 0; // bytes
          forRuns(tensor, [&](const std::byte *begin, int64_t bytes) {
            first = std::min<int64_t>(first, begin - tensor.data);
            last = std::max<int64_t>(last, begin - tensor.data + bytes);
          });
          GuardedDevice::Allocation &allocation = device.allocationOf(
              tensor.data + first, last - first, std::string(name));
          tensor.data = allocation.inside + (tensor.data - allocation.given);
        });
        using Kind = std::remove_reference_t<decltype(what)>;
        bound->task = cpu::bind(*device.processor, static_cast<Kind &>(what));
      },
      entry.what);
  entries.push_back(std::move(bound));
}

void GuardedProgram::checkAgainst(const Bound &entry, const Operand &operand,
                                  const Open &collective) {
  bool writes = operand.access != Access::Read;
  for (const Operand &other : collective.start->operands) {
    bool otherWrites = other.access != Access::Read;
    // Who has its results may read and write them; what it sends is read by
    // others until it is finished.
    if (collective.isDone ? !writes || otherWrites : !writes && !otherWrites)
      continue;
    bool meets = false;
    forRuns(operand.tensor, [&](const std::byte *begin, int64_t bytes) {
      forRuns(other.tensor, [&](const std::byte *from, int64_t size) {
        meets |= begin < from + size && from < begin + bytes;
      });
    });
    if (meets)
      complain(entry,
               concat(operand.name, writes ? " is written" : " is read",
                      " while ", other.name, " of ",
                      collective.start->placed.place, " is ",
                      otherWrites ? "written" : "read", ": a wait is missing"));
  }
}

void GuardedProgram::check(const Bound &entry) {
  for (const Operand &operand : entry.operands) {
    for (auto &[id, collective] : open)
      checkAgainst(entry, operand, collective);
    if (operand.access != Access::Read && operand.access != Access::Update)
      continue;
    forRuns(operand.tensor, [&](const std::byte *begin, int64_t bytes) {
      auto &allocation = device.allocationOf(begin, bytes, operand.name);
      int64_t first = begin - allocation.given;
      for (int64_t i = first; i < first + bytes; ++i)
        if (!allocation.writers[i])
          complain(entry,
                   concat(operand.name, " reads byte ", i, " of '",
                          allocation.name, "', which was never written"));
    });
  }
}

void GuardedProgram::markWritten(const Bound &entry) {
  for (const Operand &operand : entry.operands) {
    if (operand.access == Access::Read)
      continue;
    const std::string *writer =
        operand.access == Access::Scratch ? nullptr : &entry.placed.place;
    forRuns(operand.tensor, [&](const std::byte *begin, int64_t bytes) {
      auto &allocation = device.allocationOf(begin, bytes, operand.name);
      std::fill_n(allocation.writers.begin() + (begin - allocation.given),
                  bytes, writer);
    });
  }
}

void GuardedProgram::release(size_t count) {
  for (; count > 0; --count) {
    device.streams->communication.push(std::move(held.front().start));
    held.pop_front();
  }
}

void GuardedProgram::run(int64_t begin, int64_t end, const StepNumbers &numbers,
                         Measurements &) {
  bool all = numbers.endsStep();
  device.streams->compute.push(
      [this, numbers] { device.processor->numbers = numbers; });
  for (int64_t i = begin; i < end; ++i) {
    Bound &entry = *entries[i];
    if (entry.placed.last && !all)
      continue;
    auto start = [&](uint32_t id) {
      check(entry);
      if (open.contains(id))
        complain(entry, concat("collective ", id, " is still open"));
      open[id] = {&entry};
      // What was queued before is done when the collective begins.
      auto ready = std::make_shared<Event>();
      auto set = [ready] { ready->set(); };
      device.streams->compute.push(set, set);
      held.push_back({id,
                      [ready, &entry] {
                        ready->wait();
                        entry.task();
                      },
                      int64_t(draw() % 8)});
    };
    auto await = [&](uint32_t id, bool finishes) {
      auto found = open.find(id);
      if (found == open.end())
        complain(entry, concat("collective ", id, " was not started"));
      auto position = std::find_if(held.begin(), held.end(),
                                   [&](const Held &h) { return h.id == id; });
      if (position != held.end())
        release(size_t(position - held.begin()) + 1);
      if (!found->second.isDone)
        markWritten(*found->second.start);
      found->second.isDone = true;
      if (finishes)
        open.erase(found);
    };
    bool isCollective = true;
    std::visit(
        [&](const auto &what) {
          using Kind = std::remove_cvref_t<decltype(what)>;
          if constexpr (std::is_same_v<Kind, entry::StartAllGather> ||
                        std::is_same_v<Kind, entry::StartReduceScatter> ||
                        std::is_same_v<Kind, entry::StartAllReduce> ||
                        std::is_same_v<Kind, entry::StartBarrier>) {
            start(what.id);
          } else if constexpr (std::is_same_v<Kind, entry::Wait> ||
                               std::is_same_v<Kind, entry::Finish>) {
            if constexpr (std::is_same_v<Kind, entry::Wait>) {
              await(what.id, what.finishes);
            } else {
              for (uint32_t id : what.ids)
                if (open.contains(id))
                  await(id, true);
            }
            auto done = std::make_shared<Event>();
            auto set = [done] { done->set(); };
            device.streams->communication.push(
                [&entry, set] {
                  try {
                    entry.task();
                  } catch (...) {
                    set();
                    throw;
                  }
                  set();
                },
                set);
            auto wait = [done] { done->wait(); };
            device.streams->compute.push(wait, wait);
          } else {
            isCollective = false;
          }
        },
        entry.placed.what);
    if (isCollective)
      continue;
    check(entry);
    markWritten(entry);
    device.streams->compute.push([&entry] {
      try {
        entry.task();
      } catch (const Error &error) {
        throw Error(entry.placed.place + ": " + error.what());
      }
    });
    for (Held &each : held)
      --each.entriesLeft;
    while (!held.empty() && held.front().entriesLeft <= 0)
      release(1);
  }
  release(held.size());
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

GuardedDevice::GuardedDevice(const plan::Plan &plan,
                             const KernelLibrary &kernels,
                             Communicator &communicator, uint64_t seed)
    : communicator(communicator), seed(seed),
      processor(std::make_unique<cpu::CpuDevice>(plan, kernels, communicator,
                                                 cpu::CpuOptions{})),
      streams(std::make_unique<Streams>()) {
  // Its threads are those of the stream that computes.
  if (HostRanks *ranks = communicator.hostRanks())
    ranks->helpWith(nullptr);
}

GuardedDevice::~GuardedDevice() {
  communicator.leave(); // ends waits that nobody would answer
  streams.reset();
}

std::byte *GuardedDevice::allocate(const std::string &name, int64_t bytes) {
  if (bytes == 0)
    return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->name = name;
  allocation->bytes = bytes;
  // What lies beyond faults as well.
  constexpr size_t page = 4096;
  allocation->mapped = (size_t(bytes) + page - 1) / page * page;
  int file = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(allocation->mapped)) != 0)
    fail("no memory of ", bytes, " bytes for ", name);
  auto map = [&](int protection) {
    void *mapped =
        mmap(nullptr, allocation->mapped, protection, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
      fail("no memory of ", bytes, " bytes for ", name);
    return static_cast<std::byte *>(mapped);
  };
  allocation->given = map(PROT_NONE);
  allocation->inside = map(PROT_READ | PROT_WRITE);
  close(file);
  // The optimizer's state and padding begin as zeros; nothing else is read
  // before it is written.
  bool counts = name == "persistent" || name == "metrics";
  allocation->writers.resize(bytes, counts ? &zeroed : nullptr);
  guard(*allocation);
  allocations.push_back(std::move(allocation));
  return allocations.back()->given;
}

GuardedDevice::Allocation &
GuardedDevice::allocationOf(const std::byte *begin, int64_t bytes,
                            const std::string &what) {
  for (const auto &allocation : allocations)
    if (begin >= allocation->given &&
        begin + bytes <= allocation->given + allocation->bytes)
      return *allocation;
  fail(what, " of ", bytes, " bytes lies in no allocation of the device");
}

void GuardedDevice::upload(std::byte *to, const void *from, int64_t bytes) {
  if (bytes == 0)
    return;
  settle();
  Allocation &allocation = allocationOf(to, bytes, "an upload");
  std::memcpy(allocation.inside + (to - allocation.given), from, bytes);
  std::fill_n(allocation.writers.begin() + (to - allocation.given), bytes,
              &uploaded);
}

void GuardedDevice::download(void *to, const std::byte *from, int64_t bytes) {
  if (bytes == 0)
    return;
  settle();
  Allocation &allocation = allocationOf(from, bytes, "a download");
  std::memcpy(to, allocation.inside + (from - allocation.given), bytes);
}

std::unique_ptr<DeviceProgram> GuardedDevice::newProgram() {
  return std::make_unique<GuardedProgram>(*this);
}

void GuardedDevice::settle() {
  streams->communication.settle();
  streams->compute.settle();
}

DeviceFactory guardedDevices(const plan::Plan &plan,
                             const KernelLibrary &kernels, uint64_t seed) {
  return [&plan, &kernels, seed](Communicator &communicator) {
    return std::make_unique<GuardedDevice>(plan, kernels, communicator, seed);
  };
}

} // namespace shardc::runtime
