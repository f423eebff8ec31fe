// Attention, forward. A work item is a block of query rows of one head. The
// softmax over key blocks is online: each row has a running maximum and a
// running sum, and the output is rescaled when the maximum rises (Milakov,
// Gimelshein, arXiv:1805.02867).
#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/attention/AttentionBlocks.h"
#include "runtime/simd/Simd.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::cpu {

int64_t attentionWorkspace(const Attention &a) {
  return attentionSlice(a.query.shape[3] + a.value.shape[3],
                        int64_t(elementSize(a.query.dtype)));
}

namespace {

/// S is the type of the elements.
template <typename S> struct Forward {
  using T = ComputeOf<S>;
  const Attention &a;
  AttentionShape shape;
  const Tensor &output, &logSumExp;

  void block(int64_t batch, int64_t headIndex, int64_t firstRow, int64_t rows,
             T *workspace) const;
};

template <typename S>
void Forward<S>::block(int64_t batch, int64_t headIndex, int64_t firstRow,
                       int64_t rows, T *workspace) const {
  constexpr T minusInfinity = -std::numeric_limits<T>::infinity();
  const simd::Simd<T> &loops = simd::loops<T>();
  T *scores = workspace, *maximum = scores + queryBlock * keyBlock,
    *sum = maximum + queryBlock;
  // Blocks of converted elements follow.
  T *queryRows = sum + queryBlock,
    *outRows = queryRows + queryBlock * shape.headDim,
    *keyRows = outRows + queryBlock * shape.valueDim,
    *valueRows = keyRows + keyBlock * shape.headDim;
  // A sink is a score that comes first, and that no value belongs to.
  const T sink = sinkOf<T>(a, headIndex);
  std::fill_n(maximum, rows, sink);
  std::fill_n(sum, rows, T(sink > minusInfinity));
  DroppedRows<T> dropped(a);
  int64_t group = headIndex / shape.headsPerGroup;
  Head<S> result = head<S>(output, batch, headIndex);
  Head<T> query = loadBlock(head<S>(a.query, batch, headIndex), firstRow, rows,
                            shape.headDim, queryRows);
  Head<T> out = resultBlock(result, firstRow, shape.valueDim, outRows);

  const auto [begin, end] = seenBlocks(a, firstRow, rows);
  if (begin >= end)
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(out.row(r), shape.valueDim, T(0));
  for (int64_t first = begin; first < end; first += keyBlock) {
    int64_t count = std::min(keyBlock, end - first);
    Head<T> key = loadBlock(head<S>(a.key, batch, group), first, count,
                            shape.headDim, keyRows);
    Head<T> value = loadBlock(head<S>(a.value, batch, group), first, count,
                              shape.valueDim, valueRows);
    rowsTimesRows(scores, query, rows, key, count, shape.headDim, a.scale);
    for (int64_t r = 0; r < rows; ++r) {
      T *row = scores + r * keyBlock;
      const auto [from, to] = seenKeys(a, firstRow + r).within(first, count);
      std::fill(row, row + from, T(0));
      std::fill(row + to, row + count, T(0));
      if (from == to)
        continue;
      if (a.softcap != 0)
        loops.softcapRow(row + from, nullptr, T(a.softcap), to - from);
      auto [bias, mask] = rowModifiers(a, batch, headIndex, firstRow + r,
                                       first + from, row + from, to - from);
      simd::RowSum<T> part =
          loops.softmaxRow(row + from, bias, mask, maximum[r], to - from);
      if (part.maximum > maximum[r] && sum[r] != 0) {
        T factor = std::exp(maximum[r] - part.maximum);
        sum[r] *= factor;
        if (first > begin)
          loops.scale(out.row(r), factor, shape.valueDim);
      }
      maximum[r] = part.maximum;
      sum[r] += part.sum;
      if (const T *factors = dropped.factors(batch, headIndex, firstRow + r,
                                             first, {from, to}))
        loops.multiply(row + from, factors, to - from);
    }
    Gemm<T> p{};
    p.m = rows, p.n = shape.valueDim, p.k = count;
    p.a = scores, p.strideA = keyBlock;
    p.b = value.data, p.strideB = value.stride;
    p.c = out.data, p.strideC = out.stride;
    p.accumulate = first > begin;
    gemm(p);
  }
  for (int64_t r = 0; r < rows; ++r) {
    T *row = out.row(r);
    // Where the sum is 0, everything is masked.
    if (sum[r] == 0)
      std::fill_n(row, shape.valueDim, T(0));
    else
      loops.scale(row, T(1) / sum[r], shape.valueDim);
    if (logSumExp)
      logSumExp.as<T>()[(batch * shape.heads + headIndex) * shape.queries +
                        firstRow + r] =
          sum[r] == 0 ? minusInfinity : maximum[r] + std::log(sum[r]);
  }
  storeBlock(out, result, firstRow, rows, shape.valueDim);
}

template <typename S>
void run(const Attention &a, const Tensor &output, const Tensor &logSumExp,
         std::byte *workspace, int workers, ThreadPool &pool) {
  using T = ComputeOf<S>;
  Forward<S> forward{a, AttentionShape(a), output, logSumExp};
  const AttentionShape &shape = forward.shape;
  int64_t blocks = (shape.queries + queryBlock - 1) / queryBlock;
  int64_t slice = attentionWorkspace(a);
  pool.forItems(
      shape.batch * shape.heads * blocks, workers,
      [&](int64_t item, int worker) {
        // Later blocks see more keys: the longest come first, which evens out
        // the threads.
        int64_t block = blocks - 1 - item % blocks, head = item / blocks;
        int64_t first = block * queryBlock;
        forward.block(head / shape.heads, head % shape.heads, first,
                      std::min(queryBlock, shape.queries - first),
                      reinterpret_cast<T *>(workspace + worker * slice));
      });
}

} // namespace

void attention(const Attention &a, const Tensor &output,
               const Tensor &logSumExp, std::byte *workspace, int workers,
               ThreadPool &pool) {
  withFloat(a.query.dtype, [&]<typename S>(S) {
    run<S>(a, output, logSumExp, workspace, workers, pool);
  });
}

} // namespace shardc::runtime::cpu
