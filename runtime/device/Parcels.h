// An all-to-all's routes as what goes to other ranks, or comes from them.
#ifndef SHARDC_RUNTIME_DEVICE_PARCELS_H
#define SHARDC_RUNTIME_DEVICE_PARCELS_H

#include "runtime/device/CollectiveEntries.h"

#include <vector>

namespace shardc::runtime {

/// In the order of the routes, where the tensors lie.
std::vector<Parcel> parcelsOf(const std::vector<Tensor> &tensors,
                              const std::vector<entry::Route> &routes);

} // namespace shardc::runtime

#endif
