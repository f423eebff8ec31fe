// Bytes of scratch memory that library calls need.
#include "codegen/step/Workspace.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace shardc::step {

static int64_t perWorker(int64_t elements, int64_t elementBytes,
                         int64_t workers) {
  return llvm::alignTo(elements * elementBytes, 64) * workers;
}

int64_t attentionWorkspace(int64_t elementBytes, int64_t workers) {
  return perWorker(queryBlock * keyBlock + 2 * queryBlock, elementBytes,
                   workers);
}

int64_t attentionGradWorkspace(int64_t elementBytes, int64_t workers) {
  return perWorker(2 * queryBlock * keyBlock + queryBlock, elementBytes,
                   workers);
}

int64_t crossEntropyWorkspace(int64_t rows) { return rows * 8; }

int64_t linearCrossEntropyChunk(int64_t rows, int64_t classes,
                                int64_t elementBytes) {
  int64_t fitting = (int64_t(64) << 20) / (classes * elementBytes) / 64 * 64;
  return std::min(rows, std::max<int64_t>(fitting, 64));
}

int64_t linearCrossEntropyWorkspace(int64_t rows, int64_t classes,
                                    int64_t elementBytes) {
  int64_t chunk = linearCrossEntropyChunk(rows, classes, elementBytes);
  return llvm::alignTo(chunk * classes * elementBytes, 64) + rows * 8;
}

} // namespace shardc::step
