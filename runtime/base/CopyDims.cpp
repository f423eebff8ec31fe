// A copy between two layouts, in as few dims as it has.
#include "runtime/base/CopyDims.h"

#include <algorithm>
#include <tuple>

namespace shardc::runtime {

std::vector<ViewDim> copyDims(const Tensor &source, const Tensor &destination) {
  std::vector<ViewDim> dims;
  for (int64_t dim = 0; dim < source.rank(); ++dim)
    if (source.shape[dim] != 1)
      dims.push_back(
          {source.shape[dim], source.strides[dim], destination.strides[dim]});
  std::sort(dims.begin(), dims.end(), [](const ViewDim &a, const ViewDim &b) {
    return std::tie(a.to, a.from) > std::tie(b.to, b.from);
  });
  std::vector<ViewDim> merged;
  for (const ViewDim &dim : dims) {
    if (!merged.empty() && merged.back().from == dim.from * dim.size &&
        merged.back().to == dim.to * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.from, dim.to};
    else
      merged.push_back(dim);
  }
  return merged;
}

} // namespace shardc::runtime
