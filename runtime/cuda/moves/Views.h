// Views as kernels walk them: dims that are merged, in units as wide as lies
// side by side.
#ifndef SHARDC_RUNTIME_CUDA_MOVES_VIEWS_H
#define SHARDC_RUNTIME_CUDA_MOVES_VIEWS_H

#include "runtime/base/CopyDims.h"
#include "runtime/base/Tensor.h"
#include "runtime/cuda/kernels/Parameters.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace shardc::runtime::cuda {

/// Two views of one shape.
struct ViewPair {
  const std::byte *from;
  std::byte *to;
  int64_t unit;              // bytes
  std::vector<ViewDim> dims; // in units: the outermost of the destination first

  int64_t units() const;
  /// Whether both are one run of bytes.
  bool isRun() const;
};

/// Merges neighbouring dims that both sides walk on, then takes units of up to
/// 16 bytes, as alignment allows. At least one element.
ViewPair viewPair(const Tensor &source, const Tensor &destination);

/// Calls take with parts of fewer than `limit` units each, that are all of it.
void inParts(const ViewPair &views, int64_t limit,
             const std::function<void(const ViewPair &)> &take);

/// What kernels get of a pointer.
inline Address address(const void *memory) {
  return reinterpret_cast<Address>(memory);
}

/// The largest power of two up to 16 that divides all of these.
int64_t commonUnit(std::initializer_list<int64_t> bytes);
inline int64_t addressBytes(const void *address) {
  return int64_t(reinterpret_cast<uintptr_t>(address) % 16);
}

} // namespace shardc::runtime::cuda

#endif
