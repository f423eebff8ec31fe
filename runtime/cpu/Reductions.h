// Which entry made a gradient.
#ifndef SHARDC_RUNTIME_CPU_REDUCTIONS_H
#define SHARDC_RUNTIME_CPU_REDUCTIONS_H

#include "runtime/device/Entries.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc::runtime::cpu {

/// Knows of a program, entry by entry, which reduce-scatters' results are as
/// those left them.
class Reductions {
public:
  /// A reduce-scatter, and its place in the program.
  struct Started {
    int64_t place;
    entry::StartReduceScatter start;
  };
  void see(const entry::StartReduceScatter &start, int64_t place);
  template <typename Kind> void see(const Kind &other) {
    entry::forOperands(other, [this](const Tensor &tensor, entry::Access access,
                                     const char *) {
      if (access != entry::Access::Read)
        overwrite(tensor);
    });
  }
  /// Returns the one that a whole gradient is the result of.
  std::optional<Started> of(const Tensor &gradient) const;

private:
  void overwrite(const Tensor &tensor);

  std::vector<Started> reductions;
};

} // namespace shardc::runtime::cpu

#endif
