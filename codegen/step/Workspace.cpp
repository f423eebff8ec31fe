// Bytes of scratch memory that library calls need.
#include "codegen/step/Workspace.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace shardc::step {

static int64_t aligned(int64_t bytes) { return llvm::alignTo(bytes, 64); }

/// Bytes of one number that is computed with.
static int64_t numberBytes(int64_t elementBytes) {
  return std::max<int64_t>(elementBytes, 4);
}
static bool isConverted(int64_t elementBytes) { return elementBytes < 4; }

int64_t gemmWorkspace(int64_t m, int64_t n, int64_t k, int64_t elementBytes,
                      int64_t workers) {
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

int64_t attentionWorkspace(const AttentionSizes &sizes, int64_t workers) {
  int64_t elements = queryBlock * keyBlock + 2 * queryBlock;
  if (isConverted(sizes.elementBytes))
    elements += (queryBlock + keyBlock) * (sizes.queryDim + sizes.valueDim);
  return aligned(elements * numberBytes(sizes.elementBytes)) * workers;
}

int64_t attentionGradWorkspace(const AttentionSizes &sizes, int64_t workers) {
  int64_t elements = 2 * queryBlock * keyBlock + queryBlock;
  if (isConverted(sizes.elementBytes))
    elements += (2 * queryBlock + keyBlock + sizes.keys) *
                (sizes.queryDim + sizes.valueDim);
  return aligned(elements * numberBytes(sizes.elementBytes)) * workers;
}

int64_t crossEntropyWorkspace(int64_t rows) { return rows * 8; }

int64_t linearCrossEntropyChunk(int64_t rows, int64_t classes,
                                int64_t elementBytes) {
  int64_t row = classes * numberBytes(elementBytes);
  auto fitting = [&](int64_t bytes) { return bytes / row / 64 * 64; };
  int64_t chunk = std::min(std::max<int64_t>(256, fitting(int64_t(16) << 20)),
                           fitting(int64_t(64) << 20));
  return std::min(rows, std::max<int64_t>(64, chunk));
}

int64_t linearCrossEntropyWorkspace(const LinearCrossEntropySizes &sizes,
                                    int64_t workers) {
  int64_t bytes = sizes.elementBytes, number = numberBytes(bytes);
  int64_t classes = sizes.classes, features = sizes.features;
  int64_t chunk = linearCrossEntropyChunk(sizes.rows, classes, bytes);
  int64_t total =
      aligned(chunk * classes * number) + aligned(sizes.rows * 8) +
      std::max({gemmWorkspace(chunk, classes, features, bytes, workers),
                gemmWorkspace(chunk, features, classes, bytes, workers),
                gemmWorkspace(classes, features, chunk, bytes, workers),
                gemmWorkspace(features, classes, chunk, bytes, workers)});
  if (sizes.roundsWeightGradient && chunk < sizes.rows)
    total += aligned(features * classes * number);
  if (sizes.roundsBiasGradient)
    total += aligned(classes * number);
  return total;
}

} // namespace shardc::step
