// The sizes that GpuWorkspaces.h describes are computed here.
#include "codegen/gpu/GpuWorkspaces.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace shardc::gpu {

static int64_t aligned(int64_t bytes) { return llvm::alignTo(bytes, 256); }

int64_t GpuWorkspaces::attentionGrad(const step::AttentionSizes &sizes) const {
  return 3 * aligned(sizes.queries * std::max<int64_t>(sizes.elementBytes, 4));
}

int64_t GpuWorkspaces::linearCrossEntropyChunk(
    const step::LinearCrossEntropySizes &sizes) const {
  constexpr int64_t logitBytes = int64_t(512) << 20;
  int64_t fitting = logitBytes / (sizes.classes * sizes.elementBytes) / 64 * 64;
  return std::min(sizes.rows, std::max<int64_t>(64, fitting));
}

int64_t GpuWorkspaces::linearCrossEntropy(
    const step::LinearCrossEntropySizes &sizes) const {
  int64_t chunk = linearCrossEntropyChunk(sizes);
  int64_t bytes = aligned(chunk * sizes.classes * sizes.elementBytes) +
                  aligned(crossEntropy(sizes.rows));
  if (sizes.roundsWeightGradient && chunk < sizes.rows)
    bytes += aligned(sizes.features * sizes.classes * 4);
  if (sizes.roundsBiasGradient)
    bytes += aligned(sizes.classes * 4);
  return bytes + productBytes;
}

int64_t GpuWorkspaces::allReduce(int64_t elements, int64_t elementBytes,
                                 int64_t ranks) const {
  constexpr int64_t mostBytes = int64_t(64) << 20;
  if (ranks == 1)
    return 0;
  int64_t part = std::max<int64_t>(1, mostBytes / ranks / elementBytes);
  return std::min(elements, part) * elementBytes * ranks;
}

} // namespace shardc::gpu
