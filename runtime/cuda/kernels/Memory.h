// How kernels reach the device's memory: several elements at once, where they
// lie at a multiple of all their bytes.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_MEMORY_H
#define SHARDC_RUNTIME_CUDA_KERNELS_MEMORY_H

#include "runtime/cuda/kernels/Device.h"

/// For what a kernel hands its parameters to: they stay where they are, in
/// constant memory, only where all of it is one function.
#define SHARDC_INLINE SHARDC_DEVICE __attribute__((always_inline))

namespace shardc::runtime::cuda {

/// Elements of T at an address, which is one of global memory.
template <typename T> SHARDC_DEVICE T *at(Address address) {
#ifdef __CUDA__
  return (T *)(T __attribute__((address_space(1))) *)address;
#else
  return reinterpret_cast<T *>(address);
#endif
}

/// `size` elements in a row. They are loaded and stored by 16 bytes, or by all
/// their bytes where these are less.
template <typename T, int size>
struct alignas(size * sizeof(T) < 16 ? size * sizeof(T) : 16) Pack {
  T values[size];
};

/// Whether a pack may be loaded from and stored to this address.
template <typename T, int size> SHARDC_DEVICE bool isAligned(Address address) {
  return address % alignof(Pack<T, size>) == 0;
}

/// What elements of a type are computed in.
template <typename T> struct ComputeOf {
  using Type = float;
};
template <> struct ComputeOf<double> {
  using Type = double;
};
template <typename T> using Compute = typename ComputeOf<T>::Type;

template <typename T> SHARDC_DEVICE Compute<T> widened(T value) {
  return Compute<T>(widen(value));
}

} // namespace shardc::runtime::cuda

#endif
