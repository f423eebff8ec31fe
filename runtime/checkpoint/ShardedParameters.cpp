// Whole parameters, read out of the slices that the ranks of this process hold.
#include "runtime/checkpoint/ShardedParameters.h"

#include "runtime/DType.h"
#include "runtime/Error.h"

#include <algorithm>

namespace shardc::runtime {

ShardedParameters::ShardedParameters(const plan::Plan &plan,
                                     const ParameterSource *initial)
    : plan(plan), initial(initial), units(plan.units_size()) {}

void ShardedParameters::addSlice(uint32_t unit, int64_t begin,
                                 std::span<const std::byte> slice,
                                 plan::DType dtype) {
  if (slice.empty())
    return;
  units[unit].dtype = dtype;
  units[unit].bytes.emplace(begin, slice);
}

void ShardedParameters::read(int index, int64_t begin, int64_t end,
                             plan::DType dtype, std::byte *destination) const {
  const plan::Parameter &parameter = plan.parameters(index);
  if (!parameter.trainable() && initial)
    return initial->read(index, begin, end, dtype, destination);
  const auto &slices = units[parameter.unit()].bytes;
  plan::DType stored = units[parameter.unit()].dtype;
  int64_t size = slices.empty() ? 1 : int64_t(elementSize(stored));
  begin += parameter.flat_offset();
  end += parameter.flat_offset();
  while (begin < end) {
    auto slice = slices.upper_bound(begin);
    int64_t skipped =
        slice == slices.begin() ? 0 : begin - std::prev(slice)->first;
    if (slice == slices.begin() ||
        skipped >= static_cast<int64_t>(std::prev(slice)->second.size()) / size)
      fail("no rank holds element ", begin, " of unit ",
           plan.units(parameter.unit()).name());
    --slice;
    int64_t count =
        std::min<int64_t>(end - begin, slice->second.size() / size - skipped);
    convertElements(slice->second.data() + skipped * size, stored, destination,
                    dtype, count);
    destination += count * elementSize(dtype);
    begin += count;
  }
}

} // namespace shardc::runtime
