// Reads ids and labels, which are integer tensors of either width and any
// strides, and remembers the first bad one.
#ifndef SHARDC_RUNTIME_CPU_INTEGERS_H
#define SHARDC_RUNTIME_CPU_INTEGERS_H

#include "runtime/base/Tensor.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace shardc::runtime::cpu {

/// Elements of an int64 or int32 tensor in row-major order.
class Integers {
public:
  explicit Integers(const Tensor &tensor)
      : tensor(tensor), count(tensor.elements()),
        contiguous(tensor.contiguous()) {}

  int64_t size() const { return count; }
  int64_t operator[](int64_t index) const {
    int64_t offset = contiguous ? index : offsetOf(index);
    return tensor.dtype == plan::INT64 ? tensor.as<int64_t>()[offset]
                                       : tensor.as<int32_t>()[offset];
  }

private:
  int64_t offsetOf(int64_t index) const {
    int64_t offset = 0;
    for (int64_t dim = tensor.rank() - 1; dim >= 0; --dim) {
      offset += index % tensor.shape[dim] * tensor.strides[dim];
      index /= tensor.shape[dim];
    }
    return offset;
  }

  const Tensor &tensor;
  int64_t count;
  bool contiguous;
};

/// The smallest position that any thread has noted: an error is the same one
/// for every number of threads.
class FirstWrong {
public:
  void note(int64_t position) {
    int64_t known = first.load();
    while (position < known && !first.compare_exchange_weak(known, position))
      ;
  }
  bool any() const { return first.load() != none; }
  int64_t position() const { return first.load(); }

private:
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first{none};
};

} // namespace shardc::runtime::cpu

#endif
