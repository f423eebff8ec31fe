// The sizes that GpuWorkspaces.h describes are computed here.
#include "codegen/gpu/GpuWorkspaces.h"

#include "runtime/cuda/LossWorkspace.h"
#include "runtime/cuda/attention/CudnnShapes.h"
#include "runtime/cuda/attention/ScoresInMemory.h"
#include "runtime/cuda/kernels/CrossEntropyParameters.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace shardc::gpu {

using runtime::cuda::ScoresInMemory;

static int64_t aligned(int64_t bytes) { return llvm::alignTo(bytes, 256); }

/// Whether cuDNN has engines for these.
static bool suitsCudnn(const step::AttentionSizes &sizes) {
  return sizes.elementBytes == 2 && runtime::cuda::isCudnnDim(sizes.queryDim) &&
         runtime::cuda::isCudnnDim(sizes.valueDim);
}

int64_t GpuWorkspaces::attention(const step::AttentionSizes &sizes) const {
  if (!suitsCudnn(sizes))
    return 0;
  return 256 + aligned(sizes.addends * 4) +
         (sizes.addends ? aligned(sizes.queries * 4) : 0);
}

static int64_t samplesOf(const step::AttentionSizes &sizes) {
  return sizes.queries / std::max<int64_t>(sizes.queryLength * sizes.heads, 1);
}

/// What the device keeps beside cuDNN's own, for so many rows of scores
/// (runtime/cuda/attention/CudnnSteps.h).
static int64_t besideScores(const step::AttentionSizes &sizes, int64_t rows) {
  int64_t bytes = aligned(rows * 4);
  if (sizes.addends)
    bytes += aligned(sizes.addends * 4) + 3 * aligned(rows * 4) +
             aligned(rows * sizes.valueDim * sizes.elementBytes);
  return bytes;
}

int64_t GpuWorkspaces::attentionGrad(const step::AttentionSizes &sizes) const {
  int64_t rows = sizes.queries;
  int64_t own = 3 * aligned(rows * std::max<int64_t>(sizes.elementBytes, 4));
  if (!suitsCudnn(sizes) ||
      !runtime::cuda::isCudnnGradLength(sizes.queryLength, sizes.keys))
    return own;
  ScoresInMemory whole = {.samples = samplesOf(sizes),
                          .groups = sizes.groups,
                          .headsPerGroup = sizes.heads / sizes.groups,
                          .queries = sizes.queryLength,
                          .keys = sizes.keys,
                          .dims = sizes.queryDim + sizes.valueDim,
                          .elementBytes = sizes.elementBytes};
  int64_t heads = rows / std::max<int64_t>(sizes.queryLength, 1);
  // The queries' gradient in float32, and a counter for each block of it.
  int64_t sums = besideScores(sizes, rows) + whole.bytes() -
                 whole.scoreBytes() + aligned(rows * sizes.queryDim * 4) +
                 aligned(heads * llvm::divideCeil(sizes.queryLength, 64) * 8);
  // Or the scores' gradients, of as many samples or heads as there is room for.
  constexpr int64_t mostForScores = int64_t(512) << 20;
  for (const ScoresInMemory &part : whole.parts())
    if (part.scoreBytes() <= mostForScores)
      return std::max(
          {own, sums,
           part.bytes() + besideScores(sizes, part.samples * part.heads() *
                                                  part.queries)});
  return std::max(own, sums);
}

static int64_t rowBytes(const step::LinearCrossEntropySizes &sizes) {
  return runtime::cuda::logitsStride(sizes.classes, sizes.elementBytes) *
         sizes.elementBytes;
}

int64_t GpuWorkspaces::linearCrossEntropyChunk(
    const step::LinearCrossEntropySizes &sizes) const {
  constexpr int64_t logitBytes = int64_t(512) << 20;
  int64_t fitting =
      std::max<int64_t>(64, logitBytes / rowBytes(sizes) / 64 * 64);
  if (sizes.rows <= fitting)
    return sizes.rows;
  // All chunks but the last one are as long, and it nearly is.
  int64_t chunks = llvm::divideCeil(sizes.rows, fitting);
  return llvm::alignTo(llvm::divideCeil(sizes.rows, chunks), 64);
}

int64_t GpuWorkspaces::linearCrossEntropy(
    const step::LinearCrossEntropySizes &sizes) const {
  int64_t chunk = linearCrossEntropyChunk(sizes);
  runtime::cuda::LossWorkspace workspace(
      {.rows = sizes.rows,
       .chunk = chunk,
       .features = sizes.features,
       .classes = sizes.classes,
       .logitsRowBytes = rowBytes(sizes),
       .sumsWeights = sizes.roundsWeightGradient && chunk < sizes.rows,
       .sumsBias = sizes.roundsBiasGradient});
  return workspace.products + productBytes;
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
