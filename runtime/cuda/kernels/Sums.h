// What elements are added up in, and how they get there and back.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_SUMS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_SUMS_H

#include "runtime/cuda/kernels/Device.h"

namespace shardc::runtime::cuda {

template <typename T> struct SumType {
  using type = float;
};
template <> struct SumType<double> {
  using type = double;
};
template <> struct SumType<Count> {
  using type = unsigned long long;
};
template <> struct SumType<int> {
  using type = unsigned;
};
/// What elements are summed in; integers without a sign, which wrap around.
template <typename T> using SumOf = typename SumType<T>::type;

template <typename T> SHARDC_DEVICE SumOf<T> summand(T value) {
  return SumOf<T>(widen(value));
}
SHARDC_DEVICE unsigned long long summand(Count value) {
  return static_cast<unsigned long long>(value);
}
SHARDC_DEVICE unsigned summand(int value) { return unsigned(value); }
template <typename T> SHARDC_DEVICE void store(SumOf<T> sum, T &to) {
  round(double(sum), to);
}
SHARDC_DEVICE void store(unsigned long long sum, Count &to) { to = Count(sum); }
SHARDC_DEVICE void store(unsigned sum, int &to) { to = int(sum); }

} // namespace shardc::runtime::cuda

#endif
