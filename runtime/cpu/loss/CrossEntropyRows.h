// What cross entropy and its fused form share: the labels of rows, and the loss
// of one row.
#ifndef SHARDC_RUNTIME_CPU_LOSS_CROSSENTROPYROWS_H
#define SHARDC_RUNTIME_CPU_LOSS_CROSSENTROPYROWS_H

#include "runtime/base/Error.h"
#include "runtime/cpu/HalfRows.h"
#include "runtime/cpu/Integers.h"
#include "runtime/cpu/loss/CrossEntropy.h"
#include "runtime/device/DataErrors.h"
#include "runtime/simd/Simd.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::cpu {

constexpr int64_t noLabel = -1;

/// The label that each row of logits is compared with.
class Targets {
public:
  Targets(const Labels &labels, int64_t classes)
      : labels(labels), values(labels.labels), classes(classes),
        length(labels.labels.shape.empty() ? 1 : labels.labels.shape.back()) {}

  /// Returns a label in [0, classes), or noLabel.
  int64_t of(int64_t row) {
    if (row % length + labels.shift >= length)
      return noLabel;
    int64_t label = values[row + labels.shift];
    if (label == labels.ignoreIndex)
      return noLabel;
    if (label >= 0 && label < classes)
      return label;
    wrong.note(row + labels.shift);
    return noLabel;
  }
  /// Throws where of() met a label outside the classes.
  void check() const {
    if (wrong.any())
      fail(wrongLabel(values[wrong.position()], wrong.position(), classes,
                      labels.ignoreIndex));
  }

private:
  const Labels &labels;
  Integers values;
  int64_t classes, length;
  FirstWrong wrong;
};

/// The probabilities that a row's label asks for: all of `smoothing` shared by
/// the classes, the rest the label's.
struct Wanted {
  int64_t label;
  double smoothing;

  /// Their mean of the logits, in float64 and in one order.
  template <typename S>
  double expected(const S *logits, int64_t classes) const {
    double own = widened(logits[label]);
    if (smoothing == 0)
      return own;
    constexpr int64_t width = 8;
    double sums[width] = {}, sum = 0;
    for (int64_t begin = 0; begin < classes; begin += width)
      for (int64_t lane = 0; lane < std::min(width, classes - begin); ++lane)
        sums[lane] += widened(logits[begin + lane]);
    for (double part : sums)
      sum += part;
    return (1 - smoothing) * own + smoothing * (sum / double(classes));
  }
  /// What a gradient subtracts at the label, and of every class.
  template <typename T> T own(T factor) const {
    return T(double(factor) * (1 - smoothing));
  }
  template <typename T> T uniform(T factor, int64_t classes) const {
    return T(double(factor) * smoothing / double(classes));
  }
};

/// As lossOfRow, of logits that a softcap has left: `logits` become the gradient
/// of what they were before.
template <typename T>
double lossOfCappedRow(T *logits, int64_t classes, const Wanted &wanted,
                       T factor, T softcap) {
  const simd::Simd<T> &loops = simd::loops<T>();
  double sum, logSumExp = loops.logSumExp(logits, nullptr, &sum, classes),
              expected = wanted.expected(logits, classes);
  T &atLabel = logits[wanted.label], part = atLabel / softcap;
  loops.softcapGradientRow(logits, softcap, T(logSumExp - std::log(sum)),
                           T(factor / sum), wanted.uniform(factor, classes),
                           classes);
  atLabel -= wanted.own(factor) * (1 - part * part);
  return logSumExp - expected;
}

/// Computes a row's loss. `gradient` becomes factor * (softmax - wanted); it
/// may be null (there is none) or `logits`.
template <typename S>
double lossOfRow(const S *logits, int64_t classes, const Wanted &wanted,
                 ComputeOf<S> factor, S *gradient) {
  const int64_t label = wanted.label;
  if (label == noLabel) {
    if (gradient)
      std::fill_n(gradient, classes, S());
    return 0;
  }
  const double expected = wanted.expected(logits, classes);
  const ComputeOf<S> own = wanted.own(factor),
                     uniform = wanted.uniform(factor, classes);
  if constexpr (isHalfType<S>) {
    const simd::HalfSimd<S> &loops = simd::halfLoops<S>();
    simd::LogitsSum row = loops.logitsSum(logits, classes);
    if (gradient)
      loops.crossEntropyGradient(logits, gradient, row, factor, own, uniform,
                                 label, classes);
    return double(row.maximum) + std::log(row.sum) - expected;
  } else {
    const simd::Simd<S> &loops = simd::loops<S>();
    double sum, logSumExp = loops.logSumExp(logits, gradient, &sum, classes);
    if (gradient) {
      loops.scale(gradient, S(factor / sum), classes);
      if (uniform != 0)
        for (int64_t i = 0; i < classes; ++i)
          gradient[i] -= uniform;
      gradient[label] -= own;
    }
    return logSumExp - expected;
  }
}

/// Whether the label's logit is the largest, of equal ones the first. Rows
/// without a label do not count.
template <typename S>
bool isTop(const S *logits, int64_t classes, int64_t label) {
  if (label == noLabel)
    return false;
  auto own = widened(logits[label]);
  bool beaten = !(own == own);
  for (int64_t i = 0; i < label; ++i)
    beaten |= !(widened(logits[i]) < own);
  for (int64_t i = label + 1; i < classes; ++i)
    beaten |= !(widened(logits[i]) <= own);
  return !beaten;
}

/// Adds the rows' losses in order. Loss and scale are of the type that is
/// computed in.
template <typename T>
void writeLoss(const Tensor &loss, const double *rowLosses, int64_t rows,
               const Tensor &scale) {
  double total = 0;
  for (int64_t row = 0; row < rows; ++row)
    total += rowLosses[row];
  *loss.as<T>() = T(double(*scale.as<T>()) * total);
}

} // namespace shardc::runtime::cpu

#endif
