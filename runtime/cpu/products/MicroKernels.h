// The innermost products (BLIS calls them micro-kernels): register tiles over
// packed operands. libxsmm generates them at run time for each size
// (MicroKernels.cpp alone knows that). They need AVX2.
#ifndef SHARDC_RUNTIME_CPU_PRODUCTS_MICROKERNELS_H
#define SHARDC_RUNTIME_CPU_PRODUCTS_MICROKERNELS_H

#include <cstdint>

namespace shardc::runtime::cpu {

/// The type of what is multiplied; sums are float32.
enum class Factors {
  float32,
  /// bfloat16 is multiplied in pairs (AVX512-BF16): the depth is even and so
  /// are strides of the left operand; the right one is [depth / 2, columns, 2],
  /// its stride counts pairs.
  bfloat16,
};

/// A kernel computes c [rows, columns] = a b (+ c), all row-major, with a
/// [rows, depth] and b [depth, columns].
struct MicroKernelShape {
  int64_t rows, columns, depth;
  int64_t strideA, strideB, strideC; // elements from row to row
  bool accumulate;
  bool transposeA = false; // a is stored [depth, rows]; float32 alone
};

/// Kernels of fewer columns add up in another order: from this many on, an
/// element of the result is one chain of fused multiply-adds along the depth
/// (of dot products of pairs), begun with c or 0, whatever the kernel's size.
constexpr int64_t fewestColumns = 17;

using MicroKernel = void (*)(const void *b, const void *a, void *c);
/// Returns the kernel for a shape. It is generated on first demand; later calls
/// find it in about 30 nanoseconds. Throws an Error where libxsmm has none.
MicroKernel microKernel(Factors factors, const MicroKernelShape &shape);

/// Whether this processor runs such kernels.
bool hasMicroKernels(Factors factors);
/// Elements of float32 in a register of theirs: 16 with AVX-512, 8 with AVX2.
/// Products are blocked by it (GemmBlocking.h).
int64_t microKernelLanes();
/// From now on microKernelLanes() is that. Kernels of any shape are generated
/// for any processor: a test sees AVX-512's blocks on one that has AVX2 alone.
void blockAsForLanes(int64_t lanes);
/// Whether the processor is one of Intel's: their caches want other blocks.
bool isOfIntel();
/// "libxsmm 1.17 cpx".
const char *microKernelLibrary();

} // namespace shardc::runtime::cpu

#endif
