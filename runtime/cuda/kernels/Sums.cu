// Sums of arrays, element by element: over micro-batches, and over ranks in
// their order. Bits are the processor's.
#include "runtime/cuda/kernels/Memory.h"
#include "runtime/cuda/kernels/Sums.h"
#include "runtime/cuda/kernels/SumsParameters.h"

namespace shardc::runtime::cuda {

SHARDC_DEVICE void round(unsigned long long value, Count &result) {
  result = Count(value);
}

/// Calls body(i, pack of one element or more) for all elements: packs of `size`
/// where they are aligned.
template <int size, typename Body>
SHARDC_DEVICE void forPacks(Count elements, bool isAligned, const Body &body) {
  Count step = threadsOfGrid(), first = firstElement();
  Count packs = isAligned ? elements / size : 0;
  for (Count pack = first; pack < packs; pack += step)
    body.template operator()<size>(pack * size);
  for (Count i = packs * size + first; i < elements; i += step)
    body.template operator()<1>(i);
}

template <int size, typename T>
SHARDC_DEVICE Pack<T, size> packAt(const T *elements, Count i) {
  return *reinterpret_cast<const Pack<T, size> *>(elements + i);
}

template <typename C, typename To, typename From>
SHARDC_DEVICE void add(const AddParameters &with) {
  constexpr int size = 4;
  auto *to = at<To>(with.to);
  auto *from = at<const From>(with.from);
  bool aligned =
      isAligned<To, size>(with.to) && isAligned<From, size>(with.from);
  forPacks<size>(with.elements, aligned, [&]<int n>(Count i) {
    auto sum = packAt<n>(to, i);
    auto value = packAt<n>(from, i);
#pragma unroll
    for (int lane = 0; lane < n; ++lane)
      round(C(summand(sum.values[lane])) + C(summand(value.values[lane])),
            sum.values[lane]);
    *reinterpret_cast<Pack<To, n> *>(to + i) = sum;
  });
}

template <typename T>
SHARDC_DEVICE void orderedSum(const OrderedSumParameters &with) {
  using C = SumOf<T>;
  constexpr int size = 16 / sizeof(T);
  auto *slices = at<const T>(with.slices);
  auto *result = at<T>(with.result);
  auto *running = at<C>(with.running);
  bool aligned = isAligned<T, size>(with.slices) &&
                 isAligned<T, size>(with.result) &&
                 isAligned<C, size>(with.running) && with.stride % size == 0;
  forPacks<size>(with.count, aligned, [&]<int n>(Count i) {
    Pack<C, n> sum;
    Count rank = 0;
    if (with.begins) {
      auto first = packAt<n>(slices, i);
#pragma unroll
      for (int lane = 0; lane < n; ++lane)
        sum.values[lane] = summand(first.values[lane]);
      rank = 1;
    } else {
      sum = packAt<n>(running, i);
    }
#pragma unroll 4
    for (; rank < with.ranks; ++rank) {
      auto term = packAt<n>(slices, rank * with.stride + i);
#pragma unroll
      for (int lane = 0; lane < n; ++lane)
        sum.values[lane] += summand(term.values[lane]);
    }
    if (!with.ends) {
      *reinterpret_cast<Pack<C, n> *>(running + i) = sum;
      return;
    }
    Pack<T, n> rounded;
#pragma unroll
    for (int lane = 0; lane < n; ++lane)
      store(sum.values[lane], rounded.values[lane]);
    *reinterpret_cast<Pack<T, n> *>(result + i) = rounded;
  });
}

SHARDC_DEVICE Count compared(Count value) { return value; }
SHARDC_DEVICE int compared(int value) { return value; }
template <typename T> SHARDC_DEVICE Compute<T> compared(T value) {
  return widened(value);
}

template <typename T>
SHARDC_DEVICE void orderedMax(const OrderedSumParameters &with) {
  auto *slices = at<const T>(with.slices);
  for (Count i = firstElement(); i < with.count; i += threadsOfGrid()) {
    T largest = slices[i];
    for (Count rank = 1; rank < with.ranks; ++rank) {
      T other = slices[rank * with.stride + i];
      auto a = compared(largest), b = compared(other);
      largest = a != a || a >= b ? largest : other; // a NaN wins
    }
    at<T>(with.result)[i] = largest;
  }
}

#define SHARDC_ADD(to, To, from, From, C)                                      \
  SHARDC_KERNEL void add_##to##_##from(AddParameters with) {                   \
    add<C, To, From>(with);                                                    \
  }
#define SHARDC_ADDS(to, To)                                                    \
  SHARDC_ADD(to, To, f64, double, double)                                      \
  SHARDC_ADD(to, To, f32, float, Compute<To>)                                  \
  SHARDC_ADD(to, To, bf16, Bf16, Compute<To>)                                  \
  SHARDC_ADD(to, To, f16, F16, Compute<To>)
SHARDC_ADDS(f64, double)
SHARDC_ADDS(f32, float)
SHARDC_ADDS(bf16, Bf16)
SHARDC_ADDS(f16, F16)
SHARDC_ADD(i64, Count, i64, Count, SumOf<Count>)

#define SHARDC_ORDERED(name, T)                                                \
  SHARDC_KERNEL void ordered_sum_##name(OrderedSumParameters with) {           \
    orderedSum<T>(with);                                                       \
  }                                                                            \
  SHARDC_KERNEL void ordered_max_##name(OrderedSumParameters with) {           \
    orderedMax<T>(with);                                                       \
  }
SHARDC_ORDERED(f64, double)
SHARDC_ORDERED(f32, float)
SHARDC_ORDERED(bf16, Bf16)
SHARDC_ORDERED(f16, F16)
SHARDC_ORDERED(i64, Count)
SHARDC_ORDERED(i32, int)

} // namespace shardc::runtime::cuda
