// A rank's slice of a unit, put together from the parameters that it cuts.
#include "runtime/checkpoint/ParameterSource.h"

#include "runtime/DType.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

int64_t elementCount(const plan::Parameter &parameter) {
  int64_t elements = 1;
  for (int64_t dim : parameter.shape())
    elements *= dim;
  return elements;
}

void readSlice(const plan::Plan &plan, const plan::Unit &unit,
               int64_t sliceBegin, int64_t sliceElements, plan::DType dtype,
               const ParameterSource &source, std::byte *slice) {
  int64_t sliceEnd = sliceBegin + sliceElements;
  auto size = static_cast<int64_t>(elementSize(dtype));
  std::memset(slice, 0, sliceElements * size);
  for (uint32_t index : unit.parameters()) {
    const plan::Parameter &parameter = plan.parameters(index);
    int64_t first = parameter.flat_offset();
    int64_t begin = std::max(sliceBegin, first);
    int64_t end = std::min(sliceEnd, first + elementCount(parameter));
    if (begin < end)
      source.read(index, begin - first, end - first, dtype,
                  slice + (begin - sliceBegin) * size);
  }
}

} // namespace shardc::runtime
