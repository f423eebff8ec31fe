// The norm of a gradient that is computed while a reduce-scatter writes it, so
// that memory is not read again for it.
#ifndef SHARDC_RUNTIME_CPU_OPTIMIZER_REDUCEDNORM_H
#define SHARDC_RUNTIME_CPU_OPTIMIZER_REDUCEDNORM_H

#include "runtime/base/Tensor.h"
#include "runtime/comm/Communicator.h"
#include "runtime/cpu/optimizer/PowerSum.h"

#include <mutex>
#include <vector>

namespace shardc::runtime::cpu {

/// Adds up what lies in one piece of the result; rows that pieces cut are left
/// to sum().
class ReducedNorm final : public ResultReader {
public:
  /// The gradient is what the reduce-scatter writes, of a float type, and rows
  /// follow each other.
  ReducedNorm(const Tensor &gradient, const std::vector<entry::Rows> &rows);

  /// Comes before a reduce-scatter is started.
  void begin(Norm norm);
  void read(int64_t begin, std::span<const std::byte> elements) override;
  /// Comes behind its wait.
  PowerSum sum() const;

private:
  /// Returns the first rows that end behind an element.
  std::vector<entry::Rows>::const_iterator rowsAt(int64_t element) const;

  Tensor gradient;
  std::vector<entry::Rows> rows;

  mutable std::mutex mutex; // of what follows
  Norm norm = Norm::Two;
  PowerSum whole{Norm::Two};
  std::vector<int64_t> begins; // of pieces
};

} // namespace shardc::runtime::cpu

#endif
