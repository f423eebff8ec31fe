// Attention, backward: a piece of work is one head of keys and values with all
// query heads that read it, so that its gradients are summed in one order.
// Scores are computed again from the saved log_sum_exp.
#include "runtime/DType.h"
#include "runtime/ThreadPool.h"
#include "runtime/cpu/AttentionBlocks.h"
#include "runtime/cpu/simd/Simd.h"

namespace shardc::runtime::cpu {

int64_t attentionGradWorkspace(const Attention &a) {
  int64_t elements = 2 * queryBlock * keyBlock + queryBlock;
  return (elements * elementSize(a.query.dtype) + 63) / 64 * 64;
}

namespace {

template <typename T> struct Backward {
  const Attention &a;
  AttentionShape<T> shape;
  const AttentionGradients &g;

  void group(int64_t batch, int64_t groupIndex, T *workspace) const;
  void block(int64_t batch, int64_t headIndex, int64_t firstRow, int64_t rows,
             T *workspace) const;
};

template <typename T> void clear(Head<T> rows, int64_t count, int64_t dim) {
  for (int64_t i = 0; i < count; ++i)
    std::fill_n(rows.row(i), dim, T(0));
}

/// to[first...] += scores^T from: gradients of keys and values.
template <typename T>
void addTransposed(const T *scores, int64_t rows, int64_t count, Head<T> from,
                   int64_t firstRow, Head<T> to, int64_t first, int64_t dim) {
  Gemm<T> p{};
  p.m = count, p.n = dim, p.k = rows;
  p.a = scores, p.strideA = keyBlock, p.transposeA = true;
  p.b = from.row(firstRow), p.strideB = from.stride;
  p.c = to.row(first), p.strideC = to.stride;
  p.accumulate = true;
  gemm(p);
}

template <typename T>
void Backward<T>::block(int64_t batch, int64_t headIndex, int64_t firstRow,
                        int64_t rows, T *workspace) const {
  const Simd<T> &loops = simd<T>();
  T *scores = workspace, *gradients = scores + queryBlock * keyBlock,
    *delta = gradients + queryBlock * keyBlock;
  int64_t group = headIndex / shape.headsPerGroup;
  Head<T> query = head<T>(a.query, batch, headIndex);
  Head<T> key = head<T>(a.key, batch, group);
  Head<T> value = head<T>(a.value, batch, group);
  Head<T> gradient = head<T>(g.gradient, batch, headIndex);
  Head<T> output = head<T>(g.output, batch, headIndex);
  Head<T> queryGradient = head<T>(g.queryGradient, batch, headIndex);
  const T *logSumExp =
      g.logSumExp.as<T>() + (batch * shape.heads + headIndex) * shape.queries;

  int64_t end = visibleKeys(a, firstRow + rows - 1);
  if (end == 0) {
    clear<T>({queryGradient.row(firstRow), queryGradient.stride}, rows,
             shape.headDim);
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
    delta[r] = T(loops.dot(gradient.row(firstRow + r), output.row(firstRow + r),
                           shape.valueDim));
  for (int64_t first = 0; first < end; first += keyBlock) {
    int64_t count = std::min(keyBlock, end - first);
    rowsTimesRows(scores, query, firstRow, rows, key, first, count,
                  shape.headDim, a.scale);
    rowsTimesRows(gradients, gradient, firstRow, rows, value, first, count,
                  shape.valueDim, 1);
    for (int64_t r = 0; r < rows; ++r) {
      T *row = scores + r * keyBlock, *gradientRow = gradients + r * keyBlock;
      int64_t seen =
          std::clamp<int64_t>(visibleKeys(a, firstRow + r) - first, 0, count);
      auto [bias, mask] =
          rowModifiers(a, batch, headIndex, firstRow + r, first, row, seen);
      loops.probabilityRow(row, bias, mask, logSumExp[firstRow + r], seen);
      loops.softmaxGradientRow(gradientRow, row, delta[r], T(a.scale), seen);
      std::fill(row + seen, row + count, T(0));
      std::fill(gradientRow + seen, gradientRow + count, T(0));
    }
    addTransposed(scores, rows, count, gradient, firstRow,
                  head<T>(g.valueGradient, batch, group), first,
                  shape.valueDim);
    addTransposed(gradients, rows, count, query, firstRow,
                  head<T>(g.keyGradient, batch, group), first, shape.headDim);
    Gemm<T> p{};
    p.m = rows, p.n = shape.headDim, p.k = count;
    p.a = gradients, p.strideA = keyBlock;
    p.b = key.row(first), p.strideB = key.stride;
    p.c = queryGradient.row(firstRow), p.strideC = queryGradient.stride;
    p.accumulate = first > 0;
    gemm(p);
  }
}

template <typename T>
void Backward<T>::group(int64_t batch, int64_t groupIndex, T *workspace) const {
  clear(head<T>(g.keyGradient, batch, groupIndex), shape.keys, shape.headDim);
  clear(head<T>(g.valueGradient, batch, groupIndex), shape.keys,
        shape.valueDim);
  for (int64_t member = 0; member < shape.headsPerGroup; ++member)
    for (int64_t first = 0; first < shape.queries; first += queryBlock)
      block(batch, groupIndex * shape.headsPerGroup + member, first,
            std::min(queryBlock, shape.queries - first), workspace);
}

template <typename T>
void run(const Attention &a, const AttentionGradients &g, std::byte *workspace,
         int workers, ThreadPool &pool) {
  Backward<T> backward{a, AttentionShape<T>(a), g};
  int64_t groups = backward.shape.groups, slice = attentionGradWorkspace(a);
  pool.forPieces(
      backward.shape.batch * groups, workers, [&](int64_t piece, int worker) {
        backward.group(piece / groups, piece % groups,
                       reinterpret_cast<T *>(workspace + worker * slice));
      });
}

} // namespace

void attentionGrad(const Attention &a, const AttentionGradients &gradients,
                   std::byte *workspace, int workers, ThreadPool &pool) {
  if (a.query.dtype == plan::FLOAT32)
    run<float>(a, gradients, workspace, workers, pool);
  else
    run<double>(a, gradients, workspace, workers, pool);
}

} // namespace shardc::runtime::cpu
