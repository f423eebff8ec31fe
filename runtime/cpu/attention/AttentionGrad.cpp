// Attention, backward. A work item is one head of keys and values with all
// query heads that read it, so that its gradients are summed in one order.
// Scores are computed again from the saved log_sum_exp.
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/attention/AttentionBlocks.h"
#include "runtime/simd/Simd.h"

#include <array>
#include <cmath>
#include <limits>

namespace shardc::runtime::cpu {

int64_t attentionGradWorkspace(const Attention &a) {
  return attentionGradSlice(a.key.shape[1], a.query.shape[3] + a.value.shape[3],
                            int64_t(elementSize(a.query.dtype)));
}

namespace {

/// S is the type of the elements.
template <typename S> struct Backward {
  using T = ComputeOf<S>;
  const Attention &a;
  AttentionShape shape;
  const AttentionGradients &g;
  T *workspace;
  /// The gradients of the group's keys and values, summed over its query heads.
  /// They lie where they belong, or in the workspace.
  Head<T> keyGradient{}, valueGradient{};

  void group(int64_t batch, int64_t groupIndex);
  void block(int64_t batch, int64_t headIndex, int64_t firstRow,
             int64_t rows) const;
  /// What turns a row of scores into probabilities: exp(score - shift) / sum.
  struct Normalizer {
    std::array<T, queryBlock> shift, sum;
  };
  /// Follows from log_sum_exp alone, except where that has lost the sum: beside
  /// a score of -10000, of a mask that sets every key to a number, few digits
  /// of its logarithm are left, and none beside -3e38. Such rows are summed
  /// again.
  Normalizer normalizer(int64_t batch, int64_t headIndex, int64_t firstRow,
                        int64_t rows, Head<T> query, T *scores,
                        T *keyRows) const;
};

template <typename T> void clear(Head<T> rows, int64_t count, int64_t dim) {
  for (int64_t i = 0; i < count; ++i)
    std::fill_n(rows.row(i), dim, T(0));
}

/// Computes to[first...] += scores^T from, as the gradients of keys and values
/// need it.
template <typename T>
void addTransposed(const T *scores, int64_t rows, int64_t count, Head<T> from,
                   Head<T> to, int64_t first, int64_t dim) {
  Gemm<T> p{};
  p.m = count, p.n = dim, p.k = rows;
  p.a = scores, p.strideA = keyBlock, p.transposeA = true;
  p.b = from.data, p.strideB = from.stride;
  p.c = to.row(first), p.strideC = to.stride;
  p.accumulate = true;
  gemm(p);
}

template <typename S>
auto Backward<S>::normalizer(int64_t batch, int64_t headIndex, int64_t firstRow,
                             int64_t rows, Head<T> query, T *scores,
                             T *keyRows) const -> Normalizer {
  const simd::Simd<T> &loops = simd::loops<T>();
  constexpr T infinity = std::numeric_limits<T>::infinity(), largest = 256;
  Normalizer result;
  const T *saved =
      g.logSumExp.as<T>() + (batch * shape.heads + headIndex) * shape.queries;
  std::copy_n(saved + firstRow, rows, result.shift.begin());
  result.sum.fill(T(1));
  auto isLost = [&](int64_t r) {
    const T size = std::abs(saved[firstRow + r]);
    return size > largest && size != infinity;
  };
  bool any = false;
  const T sink = sinkOf<T>(a, headIndex);
  for (int64_t r = 0; r < rows; ++r)
    if (isLost(r)) {
      any = true;
      result.shift[r] = sink;
      result.sum[r] = T(sink > -infinity);
    }
  const auto [begin, end] = seenBlocks(a, firstRow, rows);
  for (int64_t first = begin; any && first < end; first += keyBlock) {
    int64_t count = std::min(keyBlock, end - first);
    Head<T> key =
        loadBlock(head<S>(a.key, batch, headIndex / shape.headsPerGroup), first,
                  count, shape.headDim, keyRows);
    rowsTimesRows(scores, query, rows, key, count, shape.headDim, a.scale);
    for (int64_t r = 0; r < rows; ++r) {
      const auto [from, to] = seenKeys(a, firstRow + r).within(first, count);
      if (!isLost(r) || from == to)
        continue;
      T *row = scores + r * keyBlock + from;
      if (a.softcap != 0)
        loops.softcapRow(row, nullptr, T(a.softcap), to - from);
      auto [bias, mask] = rowModifiers(a, batch, headIndex, firstRow + r,
                                       first + from, row, to - from);
      simd::RowSum<T> part =
          loops.softmaxRow(row, bias, mask, result.shift[r], to - from);
      if (result.sum[r] != 0)
        result.sum[r] *= std::exp(result.shift[r] - part.maximum);
      result.shift[r] = part.maximum;
      result.sum[r] += part.sum;
    }
  }
  return result;
}

template <typename S>
void Backward<S>::block(int64_t batch, int64_t headIndex, int64_t firstRow,
                        int64_t rows) const {
  const simd::Simd<T> &loops = simd::loops<T>();
  T *scores = workspace, *gradients = scores + queryBlock * keyBlock,
    *delta = gradients + queryBlock * keyBlock;
  // Blocks of converted elements follow.
  T *queryRows = delta + queryBlock,
    *queryGradientRows = queryRows + queryBlock * shape.headDim,
    *gradientRows = queryGradientRows + queryBlock * shape.headDim,
    *outputRows = gradientRows + queryBlock * shape.valueDim,
    *keyRows = outputRows + queryBlock * shape.valueDim,
    *valueRows = keyRows + keyBlock * shape.headDim;
  int64_t group = headIndex / shape.headsPerGroup;
  Head<S> result = head<S>(g.queryGradient, batch, headIndex);
  Head<T> queryGradient =
      resultBlock(result, firstRow, shape.headDim, queryGradientRows);

  const auto [begin, end] = seenBlocks(a, firstRow, rows);
  if (begin >= end) {
    clear(queryGradient, rows, shape.headDim);
    storeBlock(queryGradient, result, firstRow, rows, shape.headDim);
    return;
  }
  Head<T> query = loadBlock(head<S>(a.query, batch, headIndex), firstRow, rows,
                            shape.headDim, queryRows);
  Head<T> gradient = loadBlock(head<S>(g.gradient, batch, headIndex), firstRow,
                               rows, shape.valueDim, gradientRows);
  Head<T> output = loadBlock(head<S>(g.output, batch, headIndex), firstRow,
                             rows, shape.valueDim, outputRows);
  for (int64_t r = 0; r < rows; ++r)
    delta[r] = T(loops.dot(gradient.row(r), output.row(r), shape.valueDim));
  const Normalizer normalized =
      normalizer(batch, headIndex, firstRow, rows, query, scores, keyRows);
  DroppedRows<T> dropped(a);
  for (int64_t first = begin; first < end; first += keyBlock) {
    int64_t count = std::min(keyBlock, end - first);
    Head<T> key = loadBlock(head<S>(a.key, batch, group), first, count,
                            shape.headDim, keyRows);
    Head<T> value = loadBlock(head<S>(a.value, batch, group), first, count,
                              shape.valueDim, valueRows);
    rowsTimesRows(scores, query, rows, key, count, shape.headDim, a.scale);
    rowsTimesRows(gradients, gradient, rows, value, count, shape.valueDim, 1);
    for (int64_t r = 0; r < rows; ++r) {
      T *row = scores + r * keyBlock, *gradientRow = gradients + r * keyBlock;
      const auto [from, to] = seenKeys(a, firstRow + r).within(first, count);
      const int64_t seen = to - from;
      std::array<T, keyBlock> slopes;
      if (a.softcap != 0)
        loops.softcapRow(row + from, slopes.data(), T(a.softcap), seen);
      auto [bias, mask] = rowModifiers(a, batch, headIndex, firstRow + r,
                                       first + from, row + from, seen);
      loops.probabilityRow(row + from, bias, mask, normalized.shift[r], seen);
      if (normalized.sum[r] != 1)
        loops.scale(row + from, T(1) / normalized.sum[r], seen);
      const T *factors =
          dropped.factors(batch, headIndex, firstRow + r, first, {from, to});
      if (factors)
        loops.multiply(gradientRow + from, factors, seen);
      loops.softmaxGradientRow(gradientRow + from, row + from, delta[r],
                               T(a.scale),
                               a.softcap != 0 ? slopes.data() : nullptr, seen);
      if (factors)
        loops.multiply(row + from, factors, seen);
      for (T *each : {row, gradientRow}) {
        std::fill(each, each + from, T(0));
        std::fill(each + to, each + count, T(0));
      }
    }
    addTransposed(scores, rows, count, gradient, valueGradient, first,
                  shape.valueDim);
    addTransposed(gradients, rows, count, query, keyGradient, first,
                  shape.headDim);
    Gemm<T> p{};
    p.m = rows, p.n = shape.headDim, p.k = count;
    p.a = gradients, p.strideA = keyBlock;
    p.b = key.data, p.strideB = key.stride;
    p.c = queryGradient.data, p.strideC = queryGradient.stride;
    p.accumulate = first > begin;
    gemm(p);
  }
  storeBlock(queryGradient, result, firstRow, rows, shape.headDim);
}

template <typename S>
void Backward<S>::group(int64_t batch, int64_t groupIndex) {
  Head<S> keyResult = head<S>(g.keyGradient, batch, groupIndex);
  Head<S> valueResult = head<S>(g.valueGradient, batch, groupIndex);
  // The sums lie behind what block() uses.
  T *sums = workspace + 2 * queryBlock * keyBlock + queryBlock +
            (2 * queryBlock + keyBlock) * (shape.headDim + shape.valueDim);
  keyGradient = resultBlock(keyResult, 0, shape.headDim, sums);
  valueGradient = resultBlock(valueResult, 0, shape.valueDim,
                              sums + shape.keys * shape.headDim);
  clear(keyGradient, shape.keys, shape.headDim);
  clear(valueGradient, shape.keys, shape.valueDim);
  for (int64_t member = 0; member < shape.headsPerGroup; ++member)
    for (int64_t first = 0; first < shape.queries; first += queryBlock)
      block(batch, groupIndex * shape.headsPerGroup + member, first,
            std::min(queryBlock, shape.queries - first));
  storeBlock(keyGradient, keyResult, 0, shape.keys, shape.headDim);
  storeBlock(valueGradient, valueResult, 0, shape.keys, shape.valueDim);
}

template <typename S>
void run(const Attention &a, const AttentionGradients &g, std::byte *workspace,
         int workers, ThreadPool &pool) {
  using T = ComputeOf<S>;
  AttentionShape shape(a);
  int64_t slice = attentionGradWorkspace(a);
  pool.forItems(shape.batch * shape.groups, workers,
                [&](int64_t item, int worker) {
                  auto *own = reinterpret_cast<T *>(workspace + worker * slice);
                  Backward<S>{a, shape, g, own}.group(item / shape.groups,
                                                      item % shape.groups);
                });
}

} // namespace

void attentionGrad(const Attention &a, const AttentionGradients &gradients,
                   std::byte *workspace, int workers, ThreadPool &pool) {
  withFloat(a.query.dtype, [&]<typename S>(S) {
    run<S>(a, gradients, workspace, workers, pool);
  });
}

} // namespace shardc::runtime::cpu
