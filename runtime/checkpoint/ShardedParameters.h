// Whole parameters (or gradients), read out of the slices that the ranks of
// this process hold.
#ifndef SHARDC_RUNTIME_CHECKPOINT_SHARDEDPARAMETERS_H
#define SHARDC_RUNTIME_CHECKPOINT_SHARDEDPARAMETERS_H

#include "runtime/checkpoint/ParameterSource.h"

#include <map>
#include <span>
#include <vector>

namespace shardc::runtime {

/// Nothing is copied together: a range is read from the slices that it touches.
/// The slices must stay as they are meanwhile.
class ShardedParameters : public ParameterSource {
public:
  explicit ShardedParameters(const plan::Plan &plan);

  /// Elements from `begin` on of a unit's flat buffer, in the unit's dtype.
  /// Slices that are already known are left out.
  void addSlice(uint32_t unit, int64_t begin, std::span<const std::byte> slice);
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;

private:
  const plan::Plan &plan;
  std::vector<std::map<int64_t, std::span<const std::byte>>>
      units; // slices by first element
};

} // namespace shardc::runtime

#endif
