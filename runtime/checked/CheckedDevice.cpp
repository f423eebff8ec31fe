// Entries one by one, and their results read back.
#include "runtime/checked/CheckedDevice.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

namespace shardc::runtime {
namespace {

struct Operand {
  Tensor tensor;
  const char *name;
};

/// An element that is not finite.
struct Wrong {
  int64_t position; // row-major
  double value;
};

bool isWrong(double value) {
  return std::isnan(value) || value == std::numeric_limits<double>::infinity();
}

class Reader {
public:
  explicit Reader(Device &device) : device(device) {}

  std::optional<Wrong> firstWrong(const Tensor &tensor) {
    if (!isFloat(tensor.dtype) || tensor.elements() == 0)
      return std::nullopt;
    // As few downloads as its strides allow.
    int64_t run = tensor.contiguous()          ? tensor.elements()
                  : tensor.strides.back() == 1 ? tensor.shape.back()
                                               : 1;
    for (int64_t begin = 0; begin < tensor.elements(); begin += run)
      for (int64_t at = begin; at < begin + run; at += block)
        if (std::optional<Wrong> wrong =
                inBlock(tensor, at, std::min(block, begin + run - at)))
          return wrong;
    return std::nullopt;
  }

private:
  static constexpr int64_t block = 1 << 16;

  /// Elements [at, at + count), which lie side by side.
  std::optional<Wrong> inBlock(const Tensor &tensor, int64_t at,
                               int64_t count) {
    int64_t size = int64_t(elementSize(tensor.dtype)), offset = 0, rest = at;
    for (int64_t dim = tensor.rank() - 1; dim >= 0; --dim) {
      offset += rest % tensor.shape[dim] * tensor.strides[dim];
      rest /= tensor.shape[dim];
    }
    bytes.resize(block * sizeof(double));
    values.resize(block);
    device.download(bytes.data(), tensor.data + offset * size, count * size);
    convertElements(bytes.data(), tensor.dtype, values.data(), plan::FLOAT64,
                    count);
    auto found = std::find_if(values.begin(), values.begin() + count, isWrong);
    if (found == values.begin() + count)
      return std::nullopt;
    return Wrong{at + (found - values.begin()), *found};
  }

  Device &device;
  std::vector<std::byte> bytes;
  std::vector<double> values;
};

class CheckedProgram final : public DeviceProgram {
public:
  CheckedProgram(Device &device, CheckSwitch when)
      : device(device), when(std::move(when)), inner(device.newProgram()),
        reader(device) {}

  void add(PlacedEntry placed) override {
    Checked entry{{}, {}, placed.place, placed.last, {}, {}};
    std::visit(
        [&](auto &what) {
          forOperands(what, [&](const Tensor &tensor, entry::Access access,
                                const char *name) {
            if (access == entry::Access::Read)
              entry.read.push_back({tensor, name});
            else if (access == entry::Access::Write ||
                     access == entry::Access::Update)
              entry.written.push_back({tensor, name});
          });
          using Kind = std::remove_cvref_t<decltype(what)>;
          if constexpr (std::is_same_v<Kind, entry::Wait>)
            entry.waitsFor = what.id;
          else if constexpr (requires { what.group; })
            entry.starts = what.id;
          // A gather moves what others have made, a transfer what was looked
          // at.
          if constexpr (std::is_same_v<Kind, entry::StartAllGather> ||
                        std::is_same_v<Kind, entry::StartTransfer>)
            entry.written.clear();
        },
        placed.what);
    inner->add(std::move(placed));
    entries.push_back(std::move(entry));
  }
  int64_t size() const override { return inner->size(); }

  void run(int64_t begin, int64_t end, const StepNumbers &numbers,
           Measurements &measured) override {
    if (when && !*when)
      return inner->run(begin, end, numbers, measured);
    for (int64_t i = begin; i < end; ++i) {
      inner->run(i, i + 1, numbers, measured);
      const Checked &entry = entries[i];
      if (entry.last && !numbers.endsStep())
        continue;
      if (entry.starts) {
        open[*entry.starts] = &entry;
        continue;
      }
      device.settle();
      if (!entry.waitsFor)
        check(entry, numbers);
      else if (auto started = open.find(*entry.waitsFor); started != open.end())
        check(*started->second, numbers);
    }
  }

private:
  struct Checked {
    std::vector<Operand> read, written;
    std::string place;
    bool last;
    /// The collective that it begins, or waits for.
    std::optional<uint32_t> starts, waitsFor;
  };

  void check(const Checked &entry, const StepNumbers &numbers) {
    for (const Operand &result : entry.written) {
      std::optional<Wrong> wrong = reader.firstWrong(result.tensor);
      if (!wrong)
        continue;
      std::string text = concat(
          entry.place, ": makes the first number that is not finite, in step ",
          numbers.step, ", micro-batch ", numbers.microBatch + 1, "/",
          numbers.microBatches, ": ", describe(result, *wrong));
      for (const Operand &operand : entry.read)
        if (std::optional<Wrong> before = wrongBefore(entry, operand))
          text += "; of what it read, " + describe(operand, *before);
      throw Error(text);
    }
  }
  /// What was wrong with an operand that the entry has not written over.
  std::optional<Wrong> wrongBefore(const Checked &entry,
                                   const Operand &operand) {
    for (const Operand &result : entry.written)
      if (result.tensor.data == operand.tensor.data)
        return std::nullopt;
    return reader.firstWrong(operand.tensor);
  }
  static std::string describe(const Operand &operand, const Wrong &wrong) {
    return concat(operand.name, " ", operand.tensor.describe(), " has ",
                  std::isnan(wrong.value) ? "nan" : "inf", " at element ",
                  wrong.position);
  }

  Device &device;
  CheckSwitch when;
  std::unique_ptr<DeviceProgram> inner;
  Reader reader;
  std::vector<Checked> entries;
  std::map<uint32_t, const Checked *> open; // collectives, by id
};

class CheckedDevice final : public Device {
public:
  CheckedDevice(std::unique_ptr<Device> inner, CheckSwitch when)
      : inner(std::move(inner)), when(std::move(when)) {}

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
    return std::make_unique<CheckedProgram>(*inner, when);
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
  CheckSwitch when;
};

} // namespace

DeviceFactory checkedDevices(DeviceFactory inner, CheckSwitch when) {
  return [inner = std::move(inner),
          when = std::move(when)](Communicator &communicator) {
    return std::make_unique<CheckedDevice>(inner(communicator), when);
  };
}

} // namespace shardc::runtime
