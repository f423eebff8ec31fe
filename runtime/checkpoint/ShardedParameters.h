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
  /// `initial`: where parameters that are not trained are read, unrounded;
  /// null: there is no asking for them.
  explicit ShardedParameters(const plan::Plan &plan,
                             const ParameterSource *initial = nullptr);

  /// Elements from `begin` on of a unit's flat buffer. What several ranks hold
  /// counts once: a slice whose beginning is known is left out. All slices of a
  /// unit have one type.
  void addSlice(uint32_t unit, int64_t begin, std::span<const std::byte> slice,
                plan::DType dtype);
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override;

private:
  struct Slices {
    plan::DType dtype = plan::INVALID;
    std::map<int64_t, std::span<const std::byte>> bytes; // by first element
  };
  const plan::Plan &plan;
  const ParameterSource *initial;
  std::vector<Slices> units;
};

} // namespace shardc::runtime

#endif
