// Memory of a guarded device: mapped twice, of which what is given out can be
// neither read nor written.
#ifndef SHARDC_TEST_RUNTIME_DEVICE_GUARDEDMEMORY_H
#define SHARDC_TEST_RUNTIME_DEVICE_GUARDEDMEMORY_H

#include "runtime/base/DType.h"
#include "runtime/base/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

struct GuardedAllocation {
  /// `bytes` > 0 of zeros. A host that touches what is given out is ended with
  /// a message that has `name`.
  static std::unique_ptr<GuardedAllocation> map(const std::string &name,
                                                int64_t bytes);
  ~GuardedAllocation();

  std::string name;
  int64_t bytes = 0;
  std::byte *given = nullptr;  // what the engine has: not to be touched
  std::byte *inside = nullptr; // what the device works on
  size_t mapped = 0;
  /// By byte: the entry that wrote it last ("upload" for the host), null for
  /// none.
  std::vector<const std::string *> writers;
};

/// The runs of bytes in a row that a tensor covers.
template <typename Visit>
void forRuns(const Tensor &tensor, const Visit &visit) {
  auto size = static_cast<int64_t>(elementSize(tensor.dtype));
  if (tensor.elements() == 0)
    return;
  if (tensor.contiguous())
    return visit(tensor.data, tensor.elements() * size);
  std::vector<int64_t> index(tensor.rank());
  for (;;) {
    int64_t offset = 0;
    for (int64_t dim = 0; dim < tensor.rank(); ++dim)
      offset += index[dim] * tensor.strides[dim];
    visit(tensor.data + offset * size, size);
    int64_t dim = tensor.rank() - 1;
    while (dim >= 0 && ++index[dim] == tensor.shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}

} // namespace shardc::runtime

#endif
