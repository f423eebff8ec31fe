// An all-to-all's routes as what goes to other ranks, or comes from them.
#include "runtime/device/Parcels.h"

#include "runtime/base/DType.h"

namespace shardc::runtime {

std::vector<Parcel> parcelsOf(const std::vector<Tensor> &tensors,
                              const std::vector<entry::Route> &routes) {
  std::vector<Parcel> parcels;
  for (const entry::Route &route : routes) {
    const Tensor &tensor = tensors[route.tensor];
    auto size = static_cast<int64_t>(elementSize(tensor.dtype));
    parcels.push_back(
        {route.peer, tensor.data + route.begin * size, route.elements * size});
  }
  return parcels;
}

} // namespace shardc::runtime
