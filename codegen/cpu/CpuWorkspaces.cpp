// Scratch memory of library calls on the CPU.
#include "codegen/cpu/CpuWorkspaces.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace shardc::cpu {

using step::AttentionSizes;
using step::LinearCrossEntropySizes;

/// The number of queries and of keys in a block of attention.
constexpr int64_t queryBlock = 64;
constexpr int64_t keyBlock = 128;

static int64_t aligned(int64_t bytes) { return llvm::alignTo(bytes, 64); }

/// The bytes of one number that is computed with.
static int64_t numberBytes(int64_t elementBytes) {
  return std::max<int64_t>(elementBytes, 4);
}
static bool isConverted(int64_t elementBytes) { return elementBytes < 4; }

int64_t CpuWorkspaces::gemm(int64_t m, int64_t n, int64_t k,
                            int64_t elementBytes) const {
  if (!isConverted(elementBytes))
    return 0;
  auto part = [](int64_t size, int64_t multiple, int64_t most) {
    return std::min<int64_t>(llvm::alignTo(size, multiple), most);
  };
  int64_t rows = part(m, 24, 384), columns = part(n, 64, 384),
          depth = part(k, 64, 512);
  int64_t elements = rows * depth + depth * columns + rows * columns + columns;
  return aligned(elements * 4) * workers;
}

int64_t CpuWorkspaces::attention(const AttentionSizes &sizes) const {
  int64_t elements = queryBlock * keyBlock + 2 * queryBlock;
  if (isConverted(sizes.elementBytes))
    elements += (queryBlock + keyBlock) * (sizes.queryDim + sizes.valueDim);
  return aligned(elements * numberBytes(sizes.elementBytes)) * workers;
}

int64_t CpuWorkspaces::attentionGrad(const AttentionSizes &sizes) const {
  int64_t elements = 2 * queryBlock * keyBlock + queryBlock;
  if (isConverted(sizes.elementBytes))
    elements += (2 * queryBlock + keyBlock + sizes.keys) *
                (sizes.queryDim + sizes.valueDim);
  return aligned(elements * numberBytes(sizes.elementBytes)) * workers;
}

int64_t CpuWorkspaces::linearCrossEntropyChunk(
    const LinearCrossEntropySizes &sizes) const {
  int64_t row = sizes.classes * numberBytes(sizes.elementBytes);
  auto fitting = [&](int64_t bytes) { return bytes / row / 64 * 64; };
  int64_t chunk = std::min(std::max<int64_t>(512, fitting(int64_t(16) << 20)),
                           fitting(int64_t(128) << 20));
  return std::min(sizes.rows, std::max<int64_t>(64, chunk));
}

int64_t
CpuWorkspaces::linearCrossEntropy(const LinearCrossEntropySizes &sizes) const {
  int64_t bytes = sizes.elementBytes, number = numberBytes(bytes);
  int64_t classes = sizes.classes, features = sizes.features;
  int64_t chunk = linearCrossEntropyChunk(sizes);
  int64_t total = aligned(chunk * classes * number) +
                  aligned(crossEntropy(sizes.rows)) +
                  std::max({gemm(chunk, classes, features, bytes),
                            gemm(chunk, features, classes, bytes),
                            gemm(classes, features, chunk, bytes),
                            gemm(features, classes, chunk, bytes)});
  if (sizes.roundsWeightGradient && chunk < sizes.rows)
    total += aligned(features * classes * number);
  if (sizes.roundsBiasGradient)
    total += aligned(classes * number);
  return total;
}

} // namespace shardc::cpu
