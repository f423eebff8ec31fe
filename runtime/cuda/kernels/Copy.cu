// Copies of strided views, fills and casts. Every element is written by one
// thread and nothing is added up, so bits are those of the processor.
#include "runtime/cuda/kernels/Device.h"

namespace shardc::runtime::cuda {

template <typename T> SHARDC_DEVICE void copyView(const CopyParameters &view) {
  auto *source = reinterpret_cast<const T *>(view.source);
  auto *destination = reinterpret_cast<T *>(view.destination);
  Count step = threadsOfGrid();
  for (Count i = firstElement(); i < view.elements; i += step) {
    Count index = i, from = 0, to = 0;
    for (int dim = int(view.rank) - 1; dim >= 0; --dim) {
      Count at = index % view.sizes[dim];
      index /= view.sizes[dim];
      from += at * view.from[dim];
      to += at * view.to[dim];
    }
    destination[to] = source[from];
  }
}

template <typename T> SHARDC_DEVICE void fillView(const FillParameters &view) {
  auto *destination = reinterpret_cast<T *>(view.destination);
  Count step = threadsOfGrid();
  for (Count i = firstElement(); i < view.elements; i += step) {
    Count index = i, to = 0;
    for (int dim = int(view.rank) - 1; dim >= 0; --dim) {
      to += index % view.sizes[dim] * view.to[dim];
      index /= view.sizes[dim];
    }
    destination[to] = T(view.bits);
  }
}

template <typename From, typename To>
SHARDC_DEVICE void castRange(const CastParameters &range) {
  auto *source = reinterpret_cast<const From *>(range.source);
  auto *destination = reinterpret_cast<To *>(range.destination);
  Count step = threadsOfGrid();
  for (Count i = firstElement(); i < range.elements; i += step)
    round(widen(source[i]), destination[i]);
}

#define SHARDC_VIEWS(bytes, T)                                                 \
  SHARDC_KERNEL void copy##bytes(CopyParameters view) { copyView<T>(view); }   \
  SHARDC_KERNEL void fill##bytes(FillParameters view) { fillView<T>(view); }
SHARDC_VIEWS(1, unsigned char)
SHARDC_VIEWS(2, unsigned short)
SHARDC_VIEWS(4, unsigned int)
SHARDC_VIEWS(8, unsigned long long)

#define SHARDC_CAST(from, From, to, To)                                        \
  SHARDC_KERNEL void cast_##from##_##to(CastParameters range) {                \
    castRange<From, To>(range);                                                \
  }
SHARDC_CAST(f64, double, f32, float)
SHARDC_CAST(f64, double, bf16, Bf16)
SHARDC_CAST(f64, double, f16, F16)
SHARDC_CAST(f32, float, f64, double)
SHARDC_CAST(f32, float, bf16, Bf16)
SHARDC_CAST(f32, float, f16, F16)
SHARDC_CAST(bf16, Bf16, f64, double)
SHARDC_CAST(bf16, Bf16, f32, float)
SHARDC_CAST(bf16, Bf16, f16, F16)
SHARDC_CAST(f16, F16, f64, double)
SHARDC_CAST(f16, F16, f32, float)
SHARDC_CAST(f16, F16, bf16, Bf16)

} // namespace shardc::runtime::cuda
