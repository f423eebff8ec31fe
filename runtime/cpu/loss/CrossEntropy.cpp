// Cross entropy, row by row. The rows' losses are kept in double and added in
// order.
#include "runtime/cpu/loss/CrossEntropy.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/loss/CrossEntropyRows.h"

#include <atomic>

namespace shardc::runtime::cpu {

template <typename S>
static void lossOnly(const Tensor &logits, const Labels &labels,
                     const Tensor &scale, const Tensor &loss,
                     const Tensor &correct, double *rowLosses,
                     ThreadPool &pool) {
  Rows rows = *foldRows(logits, 1);
  int64_t classes = logits.shape.back();
  Targets targets(labels, classes);
  const Smoothing<ComputeOf<S>> smoothing(labels, classes);
  std::atomic<int64_t> tops = 0;
  pool.forRanges(rows.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const S *of = logits.as<S>() + row * rows.stride;
      int64_t label = targets.of(row);
      rowLosses[row] =
          lossOfRow<S>(of, classes, {smoothing, label}, 0, nullptr);
      if (correct && isTop(of, classes, label))
        ++tops;
    }
  });
  if (correct)
    *correct.as<double>() = double(tops);
  targets.check();
  writeLoss<ComputeOf<S>>(loss, rowLosses, rows.rows, scale);
}

template <typename S>
static void gradientOnly(const Tensor &logits, const Labels &labels,
                         const Tensor &scale, const Tensor &gradient,
                         const Tensor &logitsGradient, ThreadPool &pool) {
  using T = ComputeOf<S>;
  Rows rows = *foldRows(logits, 1), out = *foldRows(logitsGradient, 1);
  int64_t classes = logits.shape.back();
  Targets targets(labels, classes);
  const Smoothing<T> smoothing(labels, classes);
  T factor = *scale.as<T>() * (gradient ? *gradient.as<T>() : T(1));
  pool.forRanges(rows.rows, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      lossOfRow<S>(logits.as<S>() + row * rows.stride, classes,
                   {smoothing, targets.of(row)}, factor,
                   logitsGradient.as<S>() + row * out.stride);
  });
  targets.check();
}

void crossEntropy(const Tensor &logits, const Labels &labels,
                  const Tensor &scale, const Tensor &loss,
                  const Tensor &correct, std::byte *workspace,
                  ThreadPool &pool) {
  withFloat(logits.dtype, [&]<typename S>(S) {
    lossOnly<S>(logits, labels, scale, loss, correct,
                reinterpret_cast<double *>(workspace), pool);
  });
}

void crossEntropyGrad(const Tensor &logits, const Labels &labels,
                      const Tensor &scale, const Tensor &gradient,
                      const Tensor &logitsGradient, ThreadPool &pool) {
  withFloat(logits.dtype, [&]<typename S>(S) {
    gradientOnly<S>(logits, labels, scale, gradient, logitsGradient, pool);
  });
}

} // namespace shardc::runtime::cpu
