// A copy between two layouts, in as few dims as it has.
#ifndef SHARDC_RUNTIME_BASE_COPYDIMS_H
#define SHARDC_RUNTIME_BASE_COPYDIMS_H

#include "runtime/base/Tensor.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

struct ViewDim {
  int64_t size, from, to; // strides in elements
};

/// The dims of a copy between tensors of one shape, outermost first by the
/// destination's strides; those of size 1 are left out, and neighbours are one
/// where both sides walk on.
std::vector<ViewDim> copyDims(const Tensor &source, const Tensor &destination);

} // namespace shardc::runtime

#endif
