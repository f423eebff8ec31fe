// Merging of dims and choice of units.
#include "runtime/cuda/moves/Views.h"
#include "runtime/base/DType.h"

#include <algorithm>

namespace shardc::runtime::cuda {

int64_t ViewPair::units() const {
  int64_t units = 1;
  for (const ViewDim &dim : dims)
    units *= dim.size;
  return units;
}

bool ViewPair::isRun() const {
  return dims.size() == 1 &&
         (dims[0].size == 1 || (dims[0].from == 1 && dims[0].to == 1));
}

int64_t commonUnit(std::initializer_list<int64_t> bytes) {
  int64_t unit = 16;
  for (int64_t each : bytes)
    while (each % unit)
      unit /= 2;
  return unit;
}

ViewPair viewPair(const Tensor &source, const Tensor &destination) {
  auto element = int64_t(elementSize(source.dtype));
  ViewPair views{source.data, destination.data, element,
                 copyDims(source, destination)};
  std::vector<ViewDim> &dims = views.dims;
  if (!dims.empty() && dims.back().from == 1 && dims.back().to == 1) {
    int64_t unit =
        commonUnit({addressBytes(source.data), addressBytes(destination.data),
                    dims.back().size * element});
    for (size_t i = 0; i + 1 < dims.size(); ++i)
      unit = commonUnit({unit, dims[i].from * element, dims[i].to * element});
    if (unit > element) {
      int64_t elements = unit / element;
      views.unit = unit;
      for (size_t i = 0; i + 1 < dims.size(); ++i)
        dims[i].from /= elements, dims[i].to /= elements;
      dims.back().size /= elements;
      if (dims.back().size == 1)
        dims.pop_back();
    }
  }
  if (dims.empty())
    dims.push_back({1, 1, 1});
  return views;
}

void inParts(const ViewPair &views, int64_t limit,
             const std::function<void(const ViewPair &)> &take) {
  if (views.units() < limit)
    return take(views);
  auto most = std::max_element(
      views.dims.begin(), views.dims.end(),
      [](const ViewDim &a, const ViewDim &b) { return a.size < b.size; });
  size_t dim = size_t(most - views.dims.begin());
  int64_t half = most->size / 2;
  ViewPair first = views, second = views;
  first.dims[dim].size = half;
  second.dims[dim].size -= half;
  second.from += half * most->from * views.unit;
  second.to += half * most->to * views.unit;
  inParts(first, limit, take);
  inParts(second, limit, take);
}

} // namespace shardc::runtime::cuda
