// Both operands are packed by the loops of simd/Pack.h.
#include "runtime/cpu/products/GemmPacking.h"

#include "runtime/base/Memory.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/simd/Pack.h"

namespace shardc::runtime::cpu {

GemmBuffers GemmBuffers::ofThread() {
  thread_local Memory memory = Memory::allocate(
      "packed operands of products", tiledGemmBytes, Memory::Use::Scratch);
  std::byte *packedA = memory.data();
  std::byte *packedB = packedA + blocking::packedABytes;
  return {packedA, packedB,
          reinterpret_cast<float *>(packedB + blocking::packedBBytes)};
}

void GemmPacking::packLeft(std::byte *to, int64_t stride,
                           const GemmDesc::Matrix &a, int64_t row, int64_t rows,
                           int64_t first, int64_t length) const {
  std::byte *data = a.at(row, first);
  if (hasPairs()) {
    auto *target = reinterpret_cast<BFloat16 *>(to);
    auto *source = reinterpret_cast<const BFloat16 *>(data);
    if (a.transpose)
      simd::packPairLoops().transposeDepth(target, stride, source, a.stride,
                                           length, rows);
    else
      simd::packPairLoops().copyDepth(target, stride, source, a.stride, rows,
                                      length);
    return;
  }
  withFloat32OrHalf(a.dtype, [&]<typename S>(S) {
    auto *target = reinterpret_cast<float *>(to);
    auto *source = reinterpret_cast<const S *>(data);
    if (a.transpose)
      simd::packLoops<S>().transpose(target, stride, source, a.stride, length,
                                     rows);
    else
      simd::packLoops<S>().copy(target, stride, simd::packLoops<S>().panel,
                                source, a.stride, rows, length);
  });
}

bool GemmPacking::packsPanels(const GemmDesc::Matrix &b) const {
  // The loops' registers are those of the kernels, unless a hypervisor hides
  // from libxsmm what the processor has.
  return !hasPairs() && !b.transpose &&
         simd::packLoops<float>().panel == blocking::sizes().NR;
}

void GemmPacking::packRight(std::byte *to, int64_t stride, int64_t panelStride,
                            const GemmDesc::Matrix &b, int64_t first,
                            int64_t length, int64_t column,
                            int64_t columns) const {
  std::byte *data = b.at(first, column);
  if (hasPairs()) {
    auto *target = reinterpret_cast<BFloat16 *>(to);
    auto *source = reinterpret_cast<const BFloat16 *>(data);
    if (b.transpose)
      simd::packPairLoops().transposePairs(target, stride, source, b.stride,
                                           columns, length);
    else
      simd::packPairLoops().copyPairs(target, stride, source, b.stride, length,
                                      columns);
    return;
  }
  withFloat32OrHalf(b.dtype, [&]<typename S>(S) {
    auto *target = reinterpret_cast<float *>(to);
    auto *source = reinterpret_cast<const S *>(data);
    if (b.transpose)
      simd::packLoops<S>().transpose(target, stride, source, b.stride, columns,
                                     length);
    else
      // A panel that is alone lies as a matrix.
      simd::packLoops<S>().copy(
          target, stride,
          panelStride == stride ? simd::packLoops<S>().panel : panelStride,
          source, b.stride, length, columns);
  });
}

} // namespace shardc::runtime::cpu
