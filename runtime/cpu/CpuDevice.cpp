// The device's memory is the host's, and entries run one after the other.
#include "runtime/cpu/CpuDevice.h"

#include "runtime/base/Error.h"
#include "runtime/comm/RankNote.h"
#include "runtime/cpu/Reductions.h"
#include "runtime/cpu/bind/Bind.h"
#include "runtime/cpu/products/Gemm.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shardc::runtime::cpu {
namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

class CpuProgram final : public DeviceProgram {
public:
  explicit CpuProgram(CpuDevice &device) : device(device) {}

  void add(PlacedEntry entry) override {
    Task task =
        std::visit([&](const auto &what) { return bind(what); }, entry.what);
    entries.push_back(
        {std::move(task), entry.planEntry, entry.turn, std::move(entry.place)});
  }
  int64_t size() const override { return std::ssize(entries); }

  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &measured) override {
    device.numbers = numbers;
    bool clocked = measured.timed || measured.recording;
    double gemmBegin = gemmSeconds();
    for (int64_t i = begin; i < end; ++i) {
      const Bound &entry = entries[i];
      if (!isDue(entry.turn, numbers))
        continue;
      if (measured.note)
        measured.note->entry(entry.planEntry);
      if (!clocked) {
        run(entry);
        continue;
      }
      Clock::time_point from = Clock::now();
      run(entry);
      Clock::time_point to = Clock::now();
      measured.profile.entrySeconds[entry.planEntry] += seconds(to - from);
      if (measured.recording)
        measured.events.push_back({entry.planEntry,
                                   seconds(from.time_since_epoch()),
                                   seconds(to.time_since_epoch())});
    }
    if (measured.timed)
      measured.profile.gemmSeconds += gemmSeconds() - gemmBegin;
  }

private:
  struct Bound {
    Task task;
    int planEntry;
    Turn turn;
    std::string place;
  };
  template <typename Kind> Task bind(const Kind &what) {
    reductions.see(what);
    return cpu::bind(device, what);
  }
  Task bind(const entry::StartReduceScatter &start) {
    reductions.see(start, size());
    return cpu::bind(device, start);
  }
  /// Gradients that are as a reduce-scatter leaves them are added up as they
  /// come: its task is another one then.
  Task bind(const entry::GradientNorm &entry) {
    GradientNorm::Reduced reduced(entry.gradients.size());
    for (size_t i = 0; i < reduced.size(); ++i)
      if (auto from = reductions.of(entry.gradients[i])) {
        reduced[i] =
            std::make_shared<ReducedNorm>(entry.gradients[i], entry.rows[i]);
        entries[from->place].task = bindRead(device, from->start, reduced[i]);
      }
    reductions.see(entry);
    return bindNorm(device, entry, std::move(reduced));
  }
  /// Runs a task, and names its entry in what it throws.
  static void run(const Bound &entry) {
    try {
      entry.task();
    } catch (const Aborted &) {
      throw;
    } catch (const Error &error) {
      throw Error(entry.place + ": " + error.what());
    }
  }

  CpuDevice &device;
  std::vector<Bound> entries;
  Reductions reductions; // of the entries
};

int workersOf(const plan::Plan &plan, const CpuOptions &options) {
  int64_t compiled = plan.target().cpu().workers();
  int64_t most = compiled > 0 ? compiled : options.workers;
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(options.workers, most)));
}

} // namespace

CpuDevice::CpuDevice(const plan::Plan &plan, const KernelLibrary &kernels,
                     Communicator &communicator, const CpuOptions &options)
    : plan(plan), kernels(kernels),
      pool(workersOf(plan, options), options.spin), communicator(communicator),
      transfers(options.offloadFolder) {
  if (static_cast<size_t>(plan.kernels_size()) != kernels.size())
    fail("the plan has ", plan.kernels_size(), " kernels, the kernel library ",
         kernels.size());
  if (plan.target().cpu().extents_size() != plan.kernels_size())
    fail("the target has ", plan.target().cpu().extents_size(),
         " extents, the plan ", plan.kernels_size(), " kernels");
  if (HostRanks *ranks = communicator.hostRanks())
    ranks->helpWith(&pool);
  if (options.gemmClock)
    gemmClock(true);
}

CpuDevice::~CpuDevice() {
  // From here on no other rank touches this one's memory.
  communicator.leave();
  if (HostRanks *ranks = communicator.hostRanks())
    ranks->helpWith(nullptr);
}

void CpuDevice::touch(std::byte *begin, int64_t bytes) {
  constexpr int64_t page = int64_t(2) << 20;
  pool.forRanges(
      (bytes + page - 1) / page, 1, [&](int64_t first, int64_t last, int) {
        touchPages(begin + first * page, begin + std::min(bytes, last * page));
      });
}

std::byte *CpuDevice::allocate(const std::string &name, int64_t bytes) {
  memories.push_back(Memory::allocate(name, bytes));
  touch(memories.back().data(), memories.back().size());
  return memories.back().data();
}

std::byte *CpuDevice::allocateShared(Communicator &group,
                                     const std::string &name, int64_t bytes) {
  HostRanks *ranks = group.hostRanks();
  std::shared_ptr<Memory> block =
      ranks ? ranks->sharedMemory(name, bytes) : nullptr;
  if (!block)
    return nullptr;
  blocks.push_back(block);
  return block->data();
}

void CpuDevice::upload(std::byte *to, const void *from, int64_t bytes) {
  transfers.copy(to, static_cast<const std::byte *>(from), bytes);
}
void CpuDevice::download(void *to, const std::byte *from, int64_t bytes) {
  transfers.copy(static_cast<std::byte *>(to), from, bytes);
}

std::unique_ptr<DeviceProgram> CpuDevice::newProgram() {
  return std::make_unique<CpuProgram>(*this);
}

void CpuDevice::onHost(
    int64_t extent, int64_t grain,
    const std::function<void(int64_t begin, int64_t end)> &body) {
  pool.forRanges(extent, grain,
                 [&](int64_t begin, int64_t end, int) { body(begin, end); });
}

DeviceFactory cpuDevices(const plan::Plan &plan, const KernelLibrary &kernels,
                         const CpuOptions &options) {
  return [&plan, &kernels, options](Communicator &communicator) {
    return std::make_unique<CpuDevice>(plan, kernels, communicator, options);
  };
}

} // namespace shardc::runtime::cpu
