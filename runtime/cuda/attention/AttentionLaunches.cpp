// Entries of attention become launches.
#include "runtime/cuda/attention/AttentionLaunches.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/bind/Bind.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numbers>

namespace shardc::runtime::cuda {

static int64_t blocksOf(int64_t count, int64_t block) {
  return (count + block - 1) / block;
}

HeadsView viewOf(const Tensor &tensor) {
  return {addressOf(tensor), tensor.strides[0], tensor.strides[1],
          tensor.strides[2]};
}

static AttentionParameters
parametersOf(const entry::AttentionOperands &operands, const Tensor &output,
             const Tensor &logSumExp) {
  AttentionParameters to{};
  to.query = viewOf(operands.query);
  to.key = viewOf(operands.key);
  to.value = viewOf(operands.value);
  to.output = viewOf(output);
  to.logSumExp = addressOf(logSumExp);
  if (const Tensor &bias = operands.bias) {
    to.bias = addressOf(bias);
    to.biasIsFloat32 = bias.dtype == plan::FLOAT32;
    for (int dim = 0; dim < 4; ++dim)
      to.biasStrides[dim] = bias.shape[dim] == 1 ? 0 : bias.strides[dim];
  }
  if (const Tensor &mask = operands.keyMask) {
    to.keyMask = addressOf(mask);
    std::copy_n(mask.strides.begin(), 2, to.keyMaskStrides);
  }
  if (const Tensor &sinks = operands.sinks) {
    to.sinks = addressOf(sinks);
    to.sinksAreFloat32 = sinks.dtype == plan::FLOAT32;
  }
  const std::vector<int64_t> &query = operands.query.shape;
  to.words = addressOf(operands.words);
  to.samples = operands.samples, to.rowStride = operands.rowStride;
  to.headStride = operands.rowStride / std::max<int64_t>(query[1], 1);
  to.batch = query[0], to.queries = query[1], to.heads = query[2];
  to.headDim = query[3];
  to.keys = operands.key.shape[1];
  to.valueDim = operands.value.shape[3];
  to.headsPerGroup = query[2] / std::max<int64_t>(operands.key.shape[2], 1);
  // All there are is no more than lies between any query and any key.
  auto most = [&](int64_t seen) {
    Count all = to.queries + to.keys;
    return seen < 0 ? all : std::min<Count>(seen, all);
  };
  to.before = to.keys - to.queries - most(operands.left);
  to.span = most(operands.left) + 1 + most(operands.right);
  to.scale = operands.scale, to.softcap = operands.softcap;
  if (double cap = operands.softcap; cap != 0) {
    to.narrowCap = float(cap), to.capInverse = float(1 / cap);
    to.capExponent = float(2 * std::numbers::log2e * operands.scale / cap);
  }
  return to;
}

/// Whether rows of heads begin at multiples of 16 bytes, and have as many.
static bool isAligned(const Tensor &tensor) {
  bool isAligned = tensor.shape[3] % 8 == 0 && addressOf(tensor) % 16 == 0;
  for (int dim = 0; dim < 3; ++dim)
    isAligned &= tensor.shape[dim] <= 1 || tensor.strides[dim] % 8 == 0;
  return isAligned;
}

/// The class of matrixDims for an entry, of which these are all tensors of heads;
/// 0 where matrix units do not take it.
static int matrixClass(const entry::AttentionOperands &of,
                       std::initializer_list<const Tensor *> tensors) {
  // Their gradient of a softcap follows from the score, which has no bias then.
  if (of.softcap != 0 && of.bias)
    return 0;
  if (of.rowStride % std::max<int64_t>(of.query.shape[1], 1) != 0)
    return 0;
  int64_t least = 256, most = 0;
  for (const Tensor *each : tensors) {
    if (elementSize(each->dtype) != 2 || !isAligned(*each))
      return 0;
    least = std::min(least, each->shape[3]);
    most = std::max(most, each->shape[3]);
  }
  const int *found = std::ranges::lower_bound(matrixDims, most);
  return least < 24 || found == std::end(matrixDims) ? 0 : *found;
}

namespace {
/// Launches of one entry of elements of one type.
struct Launches {
  plan::DType dtype;
  std::vector<AttentionLaunch> all;

  void add(const std::string &file, const std::string &kernel, int64_t blocks,
           unsigned threads, unsigned sharedBytes = 0) {
    if (blocks == 0)
      return;
    if (blocks > std::numeric_limits<int>::max())
      fail("attention takes ", blocks, " blocks of threads, but a GPU ",
           std::numeric_limits<int>::max(),
           " at most: a smaller batch takes fewer");
    all.push_back({file, kernel + suffixOf(dtype),
                   Grid{unsigned(blocks), threads, sharedBytes}});
  }
  /// A kernel with matrix units, for so many heads of so many rows; `what`: a
  /// gradient.
  void addMatrix(bool drops, const char *what, int dims, int64_t heads,
                 int64_t rows, const MatrixBlock &block, int sharedBytes) {
    add(concat(drops ? "AttentionDropped" : "AttentionMatrix", dims),
        concat(drops ? "attention_dropped_" : "attention_matrix_", what, dims,
               "_"),
        heads * blocksOf(rows, block.rows()), unsigned(block.threads()),
        unsigned(sharedBytes));
  }
};
} // namespace

AttentionLaunches<AttentionParameters> launchesOf(const entry::Attention &entry,
                                                  int64_t mostSharedBytes) {
  const entry::AttentionOperands &from = entry.operands;
  AttentionParameters a = parametersOf(from, entry.output, entry.logSumExp);
  Launches launches{from.query.dtype, {}};
  int dims =
      matrixClass(from, {&from.query, &from.key, &from.value, &entry.output});
  if (dims > 0 && matrixForwardBytes(dims) <= mostSharedBytes)
    launches.addMatrix(a.words != 0, "", dims, a.batch * a.heads, a.queries,
                       matrixForward(dims), matrixForwardBytes(dims));
  else
    launches.add("Attention", "attention_",
                 a.batch * a.heads * blocksOf(a.queries, attentionRows) *
                     blocksOf(a.valueDim, attentionColumns),
                 attentionThreads);
  return {a, launches.all};
}

/// Of a number for each row of scores; those lie side by side.
static int64_t rowBytes(const entry::AttentionOperands &operands) {
  const std::vector<int64_t> &query = operands.query.shape;
  int64_t bytes = query[0] * query[1] * query[2] *
                  int64_t(elementSize(computeDtype(operands.query.dtype)));
  return blocksOf(bytes, 256) * 256;
}

int64_t attentionGradWorkspace(const entry::AttentionOperands &operands) {
  return 3 * rowBytes(operands);
}

AttentionLaunches<AttentionGradParameters>
launchesOf(const entry::AttentionGrad &entry, int64_t mostSharedBytes) {
  const Tensor &workspace = entry.workspace;
  int64_t needed = attentionGradWorkspace(entry.operands);
  int64_t there =
      workspace ? workspace.elements() * int64_t(elementSize(workspace.dtype))
                : 0;
  if (there < needed)
    fail("workspace has ", there, " bytes, attention's gradient needs ", needed,
         ": the plan was made by another version, compile the model again");
  AttentionGradParameters g{};
  g.forward = parametersOf(entry.operands, entry.output, entry.logSumExp);
  g.gradient = viewOf(entry.gradient);
  g.queryGradient = viewOf(entry.queryGradient);
  g.keyGradient = viewOf(entry.keyGradient);
  g.valueGradient = viewOf(entry.valueGradient);
  g.shifts = addressOf(workspace);
  g.factors = g.shifts + Address(rowBytes(entry.operands));
  g.deltas = g.factors + Address(rowBytes(entry.operands));

  const AttentionParameters &a = g.forward;
  const entry::AttentionOperands &from = entry.operands;
  Launches launches{from.query.dtype, {}};
  int64_t heads = a.batch * a.heads, groups = a.batch * from.key.shape[2];
  int64_t rows = heads * blocksOf(a.queries, attentionRows);
  launches.add("AttentionGrad", "attention_rows_", rows, attentionThreads);
  int dims = matrixClass(from, {&from.query, &from.key, &from.value,
                                &entry.gradient, &entry.queryGradient,
                                &entry.keyGradient, &entry.valueGradient});
  const bool drops = a.words != 0;
  if (dims > 0 &&
      std::max(matrixQueryGradientBytes(dims),
               matrixKeyGradientBytes(dims, drops)) <= mostSharedBytes) {
    launches.addMatrix(drops, "key_gradient_", dims, groups, a.keys,
                       matrixKeyGradient(dims, drops),
                       matrixKeyGradientBytes(dims, drops));
    launches.addMatrix(drops, "query_gradient_", dims, heads, a.queries,
                       matrixQueryGradient(dims),
                       matrixQueryGradientBytes(dims));
  } else {
    int64_t widest = std::max(a.headDim, a.valueDim);
    launches.add("AttentionGrad", "attention_key_gradient_",
                 groups * blocksOf(a.keys, attentionRows) *
                     blocksOf(widest, attentionColumns),
                 attentionThreads);
    launches.add("AttentionGrad", "attention_query_gradient_",
                 rows * blocksOf(a.headDim, attentionColumns),
                 attentionThreads);
  }
  return {g, launches.all};
}

} // namespace shardc::runtime::cuda
