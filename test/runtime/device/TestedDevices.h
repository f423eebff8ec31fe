// The devices that the conformance suite runs over. One more line in
// testedDevices(), and all of the suite runs over one more.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_TESTEDDEVICES_H
#define SHARDC_TEST_RUNTIME_DEVICE_TESTEDDEVICES_H

#include "runtime/device/Device.h"

#include <memory>
#include <ostream>
#include <vector>

namespace shardc::runtime {

/// Kernels that a tested device has, by their numbers in entry::Launch.
struct TestKernel {
  static constexpr int64_t elements = 40000, rows = 37, columns = 1001;
  enum : uint32_t {
    /// z = 2 x + y: three vectors of `elements` float32.
    ScaleAndAdd,
    /// The sums of a float32 [rows, columns] over its columns, in float64.
    RowSums,
    /// Adds 1 to `elements` int32, in place: each piece runs once.
    Increment,
    Count,
  };
};

struct TestedDevice {
  const char *name; // its tests' too
  /// A rank's, with the kernels above.
  std::unique_ptr<Device> (*make)(Communicator &communicator);
  /// Bytes of the workspace that it wants for an entry, all of whose other
  /// operands are there.
  int64_t (*workspaceBytes)(const entry::Any &entry);
  /// The most ranks that can have one each.
  int most = 1 << 20;
  /// Whether what an entry hands to a product of its own is rounded to the
  /// inputs' type, as docs/precision.md says of GPUs.
  bool roundsFactors = false;
  /// Whether products add residuals and sum bias gradients; others refuse them.
  bool mergesProducts = false;
  /// Whether a product of 16 bits may be rounded before something is added to it,
  /// as a GPU's library does for some.
  bool mayRoundProducts = false;
};
/// What a test's failure calls it.
inline void PrintTo(const TestedDevice &device, std::ostream *out) {
  *out << device.name;
}
std::vector<TestedDevice> testedDevices();

} // namespace shardc::runtime

#endif
