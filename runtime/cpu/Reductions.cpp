// A result lasts until an entry writes to some byte of it.
#include "runtime/cpu/Reductions.h"

#include "runtime/base/DType.h"

namespace shardc::runtime::cpu {

static const std::byte *endOf(const Tensor &tensor) {
  int64_t last = 0;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    if (tensor.shape[dim] == 0)
      return tensor.data;
    last += (tensor.shape[dim] - 1) * tensor.strides[dim];
  }
  return tensor.data + (last + 1) * int64_t(elementSize(tensor.dtype));
}

void Reductions::overwrite(const Tensor &tensor) {
  std::erase_if(reductions, [&](const Started &started) {
    const Tensor &shard = started.start.shard;
    return tensor.data < endOf(shard) && shard.data < endOf(tensor);
  });
}

void Reductions::see(const entry::StartReduceScatter &start, int64_t place) {
  see<entry::StartReduceScatter>(start);
  reductions.push_back({place, start});
}

std::optional<Reductions::Started>
Reductions::of(const Tensor &gradient) const {
  for (const Started &started : reductions) {
    const Tensor &shard = started.start.shard;
    if (shard.data == gradient.data && shard.dtype == gradient.dtype &&
        shard.contiguous() && shard.elements() == gradient.elements() &&
        started.start.flat.dtype == gradient.dtype)
      return started;
  }
  return std::nullopt;
}

} // namespace shardc::runtime::cpu
