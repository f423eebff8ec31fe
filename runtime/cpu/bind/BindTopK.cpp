// The largest or smallest elements of rows, as a call.
#include "runtime/base/Error.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/bind/Bind.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

namespace shardc::runtime::cpu {

/// Whether an element comes before another by its value: what is no number is
/// the largest, as in torch.topk.
template <typename T> static bool isBefore(T a, T b, bool smallest) {
  if (smallest)
    std::swap(a, b);
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) && !std::isnan(b);
  return a > b;
}

template <typename S>
static void selectFrom(const entry::TopK &entry, ThreadPool &pool) {
  const int64_t size = entry.input.shape.back(),
                kept = entry.values.shape.back();
  const int64_t rows = kept ? entry.values.elements() / kept : 0;
  pool.forRanges(
      rows, (16 << 10) / std::max<int64_t>(1, size) + 1,
      [&](int64_t begin, int64_t end, int) {
        std::vector<int64_t> order(size);
        for (int64_t row = begin; row < end; ++row) {
          const S *from = entry.input.as<S>() + row * size;
          std::iota(order.begin(), order.end(), 0);
          std::partial_sort(
              order.begin(), order.begin() + kept, order.end(),
              [&](int64_t a, int64_t b) {
                auto left = widened(from[a]), right = widened(from[b]);
                if (isBefore(left, right, entry.smallest))
                  return true;
                return a < b && !isBefore(right, left, entry.smallest);
              });
          for (int64_t i = 0; i < kept; ++i) {
            entry.values.as<S>()[row * kept + i] = from[order[i]];
            entry.indices.as<int64_t>()[row * kept + i] = order[i];
          }
        }
      });
}

Task bind(CpuDevice &device, const entry::TopK &entry) {
  auto task = [&]<typename S>(S) -> Task {
    return [=, &device] { selectFrom<S>(entry, device.pool); };
  };
  switch (entry.input.dtype) {
  case plan::INT64:
    return task(int64_t());
  case plan::INT32:
    return task(int32_t());
  case plan::INT16:
    return task(int16_t());
  case plan::INT8:
    return task(int8_t());
  case plan::UINT64:
    return task(uint64_t());
  case plan::UINT32:
    return task(uint32_t());
  case plan::UINT16:
    return task(uint16_t());
  case plan::UINT8:
    return task(uint8_t());
  default:
    return withFloat(entry.input.dtype, task);
  }
}

} // namespace shardc::runtime::cpu
