// Scratch memory of library calls on the CPU.
#include "codegen/cpu/CpuWorkspaces.h"

#include "runtime/cpu/WorkspaceSizes.h"

#include <algorithm>

namespace shardc::cpu {

using runtime::cpu::LinearCrossEntropyPlaces;
using step::AttentionSizes;
using step::LinearCrossEntropySizes;

int64_t CpuWorkspaces::gemm(int64_t m, int64_t n, int64_t k,
                            int64_t elementBytes) const {
  return runtime::cpu::isConverted(elementBytes)
             ? runtime::cpu::ConvertedPanels(m, n, k).bytes() * workers
             : 0;
}

int64_t CpuWorkspaces::attention(const AttentionSizes &sizes) const {
  return runtime::cpu::attentionSlice(sizes.queryDim + sizes.valueDim,
                                      sizes.elementBytes) *
         workers;
}

int64_t CpuWorkspaces::attentionGrad(const AttentionSizes &sizes) const {
  return runtime::cpu::attentionGradSlice(
             sizes.keys, sizes.queryDim + sizes.valueDim, sizes.elementBytes) *
         workers;
}

int64_t CpuWorkspaces::linearCrossEntropyChunk(
    const LinearCrossEntropySizes &sizes) const {
  int64_t row = sizes.classes * runtime::cpu::numberBytes(sizes.elementBytes);
  auto fitting = [&](int64_t bytes) { return bytes / row / 64 * 64; };
  int64_t chunk = std::min(std::max<int64_t>(512, fitting(int64_t(16) << 20)),
                           fitting(int64_t(128) << 20));
  return std::min(sizes.rows, std::max<int64_t>(64, chunk));
}

int64_t
CpuWorkspaces::linearCrossEntropy(const LinearCrossEntropySizes &sizes) const {
  int64_t chunk = linearCrossEntropyChunk(sizes);
  LinearCrossEntropyPlaces places(
      {.rows = sizes.rows,
       .chunk = chunk,
       .features = sizes.features,
       .classes = sizes.classes,
       .elementBytes = sizes.elementBytes,
       .sumsWeights = sizes.roundsWeightGradient && chunk < sizes.rows,
       .sumsBias = sizes.roundsBiasGradient},
      workers);
  return runtime::cpu::workspacePart(places.end);
}

} // namespace shardc::cpu
