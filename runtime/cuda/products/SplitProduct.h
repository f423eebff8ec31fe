// Large products with a dim that the library's fast kernels do not take are two:
// one of the dim's largest multiple that they take, and one of the rest.
#ifndef SHARDC_RUNTIME_CUDA_PRODUCTS_SPLITPRODUCT_H
#define SHARDC_RUNTIME_CUDA_PRODUCTS_SPLITPRODUCT_H

#include "runtime/device/Entries.h"

#include <optional>
#include <utility>

namespace shardc::runtime::cuda {

/// The two, in their order; none where the product may stay as it is. Kernels
/// for tensor cores of compute capability 9.0 move 16 bytes at a time along
/// memory: a head of 50257 classes, whose rows begin at multiples of 16 bytes,
/// still ran at a fifth of the rate of one of 50264 (an H200, cuBLASLt 13.0). A
/// product whose k is split has its first part rounded to c's type before the
/// second one is added.
/// Below `leastFlops` a second launch costs more than a slow kernel.
std::optional<std::pair<entry::Gemm, entry::Gemm>>
splitProduct(const entry::Gemm &entry, double leastFlops = 4e9);

} // namespace shardc::runtime::cuda

#endif
