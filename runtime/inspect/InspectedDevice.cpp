// Entries one by one, and a look behind each.
#include "runtime/inspect/InspectedDevice.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <map>

namespace shardc::runtime {
namespace {

class InspectedProgram final : public DeviceProgram {
public:
  InspectedProgram(Device &device, Inspector &inspector)
      : device(device), inspector(inspector), inner(device.newProgram()) {}

  void add(PlacedEntry placed) override {
    InspectedEntry entry{
        {}, placed.planEntry, placed.place, placed.nodes, placed.turn};
    std::visit(
        [&](auto &what) {
          forOperands(what, [&](const Tensor &tensor, entry::Access access,
                                const char *name) {
            entry.operands.push_back({tensor, name, access});
          });
          using Kind = std::remove_cvref_t<decltype(what)>;
          constexpr bool isTransfer =
              std::is_same_v<Kind, entry::StartTransfer>;
          if constexpr (std::is_same_v<Kind, entry::Wait> ||
                        std::is_same_v<Kind, entry::AwaitTransfer>)
            entry.waitsFor = what.id;
          else if constexpr (isTransfer || requires { what.group; })
            entry.starts = what.id;
          entry.onlyMoves =
              isTransfer || std::is_same_v<Kind, entry::StartAllGather>;
        },
        placed.what);
    inner->add(std::move(placed));
    entries.push_back(std::move(entry));
  }
  int64_t size() const override { return inner->size(); }

  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &measured) override {
    if (!inspector.looksAt(numbers))
      return inner->run(begin, end, numbers, measured);
    for (int64_t i = begin; i < end; ++i) {
      inner->run(i, i + 1, numbers, measured);
      const InspectedEntry &entry = entries[i];
      if (!isDue(entry.turn, numbers))
        continue;
      if (entry.starts) {
        open[*entry.starts] = &entry;
        continue;
      }
      device.settle();
      if (!entry.waitsFor)
        inspector.inspect(entry, numbers, device);
      else if (auto started = open.find(*entry.waitsFor); started != open.end())
        inspector.inspect(*started->second, numbers, device);
    }
  }

private:
  Device &device;
  Inspector &inspector;
  std::unique_ptr<DeviceProgram> inner;
  std::vector<InspectedEntry> entries;
  std::map<uint32_t, const InspectedEntry *> open; // by id
};

class InspectedDevice final : public Device {
public:
  InspectedDevice(std::unique_ptr<Device> inner,
                  std::unique_ptr<Inspector> inspector)
      : inner(std::move(inner)), inspector(std::move(inspector)) {}

  std::byte *allocate(const std::string &name, int64_t bytes) override {
    return inner->allocate(name, bytes);
  }
  std::byte *allocateCommunicated(const std::string &name,
                                  int64_t bytes) override {
    return inner->allocateCommunicated(name, bytes);
  }
  std::byte *allocateShared(Communicator &group, const std::string &name,
                            int64_t bytes) override {
    return inner->allocateShared(group, name, bytes);
  }
  std::byte *allocateHost(const std::string &name, int64_t bytes) override {
    return inner->allocateHost(name, bytes);
  }
  void touch(std::byte *begin, int64_t bytes) override {
    inner->touch(begin, bytes);
  }
  void upload(std::byte *to, const void *from, int64_t bytes) override {
    inner->upload(to, from, bytes);
  }
  void download(void *to, const std::byte *from, int64_t bytes) override {
    inner->download(to, from, bytes);
  }
  std::unique_ptr<DeviceProgram> newProgram() override {
    return std::make_unique<InspectedProgram>(*inner, *inspector);
  }
  void settle() override { inner->settle(); }
  void bound() override { inner->bound(); }
  bool runsBesideHost() const override { return inner->runsBesideHost(); }
  bool timesEntriesForFree() const override {
    return inner->timesEntriesForFree();
  }
  void
  onHost(int64_t extent, int64_t grain,
         const std::function<void(int64_t begin, int64_t end)> &body) override {
    inner->onHost(extent, grain, body);
  }

private:
  std::unique_ptr<Device> inner;
  std::unique_ptr<Inspector> inspector;
};

} // namespace

DeviceFactory inspectedDevices(DeviceFactory inner,
                               InspectorFactory inspector) {
  return [inner = std::move(inner),
          inspector = std::move(inspector)](Communicator &communicator) {
    return std::make_unique<InspectedDevice>(inner(communicator),
                                             inspector(communicator));
  };
}

void readElements(
    Device &device, const Tensor &tensor, std::vector<std::byte> &scratch,
    const std::function<bool(const std::byte *bytes, int64_t first,
                             int64_t count)> &take) {
  constexpr int64_t most = 1 << 16;
  if (tensor.elements() == 0)
    return;
  const auto size = int64_t(elementSize(tensor.dtype));
  // As few downloads as its strides allow.
  const int64_t run = tensor.contiguous()          ? tensor.elements()
                      : tensor.strides.back() == 1 ? tensor.shape.back()
                                                   : 1;
  scratch.resize(size_t(std::min(run, most) * size));
  for (int64_t begin = 0; begin < tensor.elements(); begin += run)
    for (int64_t at = begin; at < begin + run; at += most) {
      const int64_t count = std::min(most, begin + run - at);
      int64_t offset = 0, rest = at;
      for (int64_t dim = tensor.rank() - 1; dim >= 0; --dim) {
        offset += rest % tensor.shape[dim] * tensor.strides[dim];
        rest /= tensor.shape[dim];
      }
      device.download(scratch.data(), tensor.data + offset * size,
                      count * size);
      if (!take(scratch.data(), at, count))
        return;
    }
}

} // namespace shardc::runtime
