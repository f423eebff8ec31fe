// Any device, but its programs run an entry at a time, and somebody looks at
// what each has made: --check-finite, --hash-entries.
#ifndef SHARDC_RUNTIME_INSPECT_INSPECTEDDEVICE_H
#define SHARDC_RUNTIME_INSPECT_INSPECTEDDEVICE_H

#include "runtime/device/Device.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

/// An entry, when all that it writes is there: of a collective and a transfer
/// behind its wait.
struct InspectedEntry {
  struct Operand {
    Tensor tensor;
    const char *name;
    entry::Access access;

    bool isWritten() const {
      return access != entry::Access::Read && access != entry::Access::Scratch;
    }
  };
  std::vector<Operand> operands;
  int planEntry;
  std::string place, nodes; // as PlacedEntry has them
  Turn turn;
  /// A gather or a transfer, which makes no numbers of its own.
  bool onlyMoves = false;
  /// The collective or transfer that it begins, or waits for.
  std::optional<uint32_t> starts = {}, waitsFor = {};
};

/// Of one rank.
class Inspector {
public:
  virtual ~Inspector() = default;
  /// Whether it looks at these entries; programs run as ever where it does not.
  virtual bool looksAt(const StepNumbers &numbers) const = 0;
  /// May download from `device`, where all that was begun is done.
  virtual void inspect(const InspectedEntry &entry, const StepNumbers &numbers,
                       Device &device) = 0;
};

using InspectorFactory =
    std::function<std::unique_ptr<Inspector>(Communicator &rank)>;

/// Devices of `inner`, each with an inspector.
DeviceFactory inspectedDevices(DeviceFactory inner, InspectorFactory inspector);

/// The elements of a tensor in row-major order, a piece of neighbours at a time:
/// take(bytes, first, count) says whether to go on. `scratch` keeps its memory.
void readElements(
    Device &device, const Tensor &tensor, std::vector<std::byte> &scratch,
    const std::function<bool(const std::byte *bytes, int64_t first,
                             int64_t count)> &take);

} // namespace shardc::runtime

#endif
