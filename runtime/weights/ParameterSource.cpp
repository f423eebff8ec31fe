// A rank's slice of a unit, put together from the parameters that it cuts.
#include "runtime/weights/ParameterSource.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <cstring>
#include <vector>

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
  // Only padding is zeroed: whole slices would be a pass over all memory.
  int64_t written = sliceBegin;
  auto zeroUpTo = [&](int64_t end) {
    if (written < end)
      std::memset(slice + (written - sliceBegin) * size, 0,
                  (end - written) * size);
  };
  std::vector<uint32_t> inOrder(unit.parameters().begin(),
                                unit.parameters().end());
  std::ranges::sort(inOrder, {}, [&](uint32_t index) {
    return plan.parameters(int(index)).flat_offset();
  });
  for (uint32_t index : inOrder) {
    const plan::Parameter &parameter = plan.parameters(int(index));
    int64_t first = parameter.flat_offset();
    int64_t begin = std::max(sliceBegin, first);
    int64_t end = std::min(sliceEnd, first + elementCount(parameter));
    if (begin >= end)
      continue;
    zeroUpTo(begin);
    source.read(int(index), begin - first, end - first, dtype,
                slice + (begin - sliceBegin) * size);
    written = std::max(written, end);
  }
  zeroUpTo(sliceEnd);
}

} // namespace shardc::runtime
