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

/// The sum of value(i) for the i below `count`, in float64 and in one order.
template <typename ValueAt>
double orderedSum(int64_t count, const ValueAt &value) {
  constexpr int64_t width = 8;
  double sums[width] = {}, sum = 0;
  for (int64_t begin = 0; begin < count; begin += width)
    for (int64_t lane = 0; lane < std::min(width, count - begin); ++lane)
      sums[lane] += value(begin + lane);
  for (double part : sums)
    sum += part;
  return sum;
}

/// How much of a label is of all classes alike, and what the classes weigh: the
/// same for all rows. T is the type that is computed in.
template <typename T> struct Smoothing {
  double part;
  int64_t classes;
  const T *weights; // null: 1 each
  double ofAll = 0; // of weights: part of their mean

  Smoothing(const Labels &labels, int64_t classes)
      : part(labels.smoothing), classes(classes),
        weights(labels.classWeights ? labels.classWeights.as<T>() : nullptr) {
    if (weights && part != 0)
      ofAll = part / double(classes) * orderedSum(classes, [&](int64_t i) {
                return double(weights[i]);
              });
  }
};

/// What a row's label asks of the log probabilities: of the smoothed part as
/// much of each class, the rest of the label's; each times its class's weight.
template <typename T> class Wanted {
public:
  Wanted(const Smoothing<T> &smoothing, int64_t label)
      : label(label), smoothing(smoothing) {
    if (!smoothing.weights || label == noLabel)
      return;
    ownPart *= double(smoothing.weights[label]);
    mass = ownPart + smoothing.ofAll;
  }

  /// The sum of their products with the logits.
  template <typename S> double expected(const S *logits) const {
    const auto &[part, classes, weights, ofAll] = smoothing;
    double own = widened(logits[label]);
    if (part == 0)
      return ownPart * own;
    auto logit = [&](int64_t i) { return double(widened(logits[i])); };
    auto weighed = [&, of = weights](int64_t i) {
      return double(of[i]) * logit(i);
    };
    double sum =
        weights ? orderedSum(classes, weighed) : orderedSum(classes, logit);
    return ownPart * own + part * (sum / double(classes));
  }
  /// What a gradient subtracts at the label, and of each class.
  T own(T factor) const { return T(double(factor) * ownPart); }
  T ofEach(T factor) const {
    return T(double(factor) * smoothing.part / double(smoothing.classes));
  }
  /// Whether the classes' parts are not all ofEach().
  bool differs() const { return smoothing.weights && smoothing.part != 0; }
  T of(int64_t i, T factor) const {
    return ofEach(factor) * (smoothing.weights ? smoothing.weights[i] : T(1));
  }

  int64_t label;
  /// The sum over the classes: what log_sum_exp and softmax are multiplied by.
  double mass = 1;

private:
  const Smoothing<T> &smoothing;
  double ownPart = 1 - smoothing.part;
};

/// As lossOfRow, of logits that a softcap has left: `logits` become the gradient
/// of what they were before.
template <typename T>
double lossOfCappedRow(T *logits, int64_t classes, const Wanted<T> &wanted,
                       T factor, T softcap) {
  const simd::Simd<T> &loops = simd::loops<T>();
  double sum, logSumExp = loops.logSumExp(logits, nullptr, &sum, classes),
              expected = wanted.expected(logits);
  T &atLabel = logits[wanted.label], part = atLabel / softcap;
  const T largest = T(logSumExp - std::log(sum)),
          scale = T(factor * wanted.mass / sum);
  if (wanted.differs())
    for (int64_t i = 0; i < classes; ++i) {
      T bounded = logits[i] / softcap;
      logits[i] =
          (std::exp(logits[i] - largest) * scale - wanted.of(i, factor)) *
          (1 - bounded * bounded);
    }
  else
    loops.softcapGradientRow(logits, softcap, largest, scale,
                             wanted.ofEach(factor), classes);
  atLabel -= wanted.own(factor) * (1 - part * part);
  return wanted.mass * logSumExp - expected;
}

/// Computes a row's loss. `gradient` becomes factor * (mass * softmax - wanted);
/// it may be null (there is none) or `logits`.
template <typename S>
double lossOfRow(const S *logits, int64_t classes,
                 const Wanted<ComputeOf<S>> &wanted, ComputeOf<S> factor,
                 S *gradient) {
  using T = ComputeOf<S>;
  const int64_t label = wanted.label;
  if (label == noLabel) {
    if (gradient)
      std::fill_n(gradient, classes, S());
    return 0;
  }
  const double expected = wanted.expected(logits);
  const T own = wanted.own(factor), ofEach = wanted.ofEach(factor),
          ofSoftmax = T(factor * wanted.mass);
  if constexpr (isHalfType<S>) {
    const simd::HalfSimd<S> &loops = simd::halfLoops<S>();
    simd::LogitsSum row = loops.logitsSum(logits, classes);
    if (gradient && wanted.differs())
      for (int64_t i = 0; i < classes; ++i) {
        const T softmax =
            std::exp(widened(logits[i]) - T(row.maximum)) / T(row.sum);
        gradient[i] = rounded<S>(ofSoftmax * softmax - wanted.of(i, factor) -
                                 (i == label ? own : T(0)));
      }
    else if (gradient)
      loops.crossEntropyGradient(logits, gradient, row, ofSoftmax, own, ofEach,
                                 label, classes);
    return wanted.mass * (double(row.maximum) + std::log(row.sum)) - expected;
  } else {
    const simd::Simd<S> &loops = simd::loops<S>();
    double sum, logSumExp = loops.logSumExp(logits, gradient, &sum, classes);
    if (gradient) {
      loops.scale(gradient, S(ofSoftmax / sum), classes);
      if (ofEach != 0)
        for (int64_t i = 0; i < classes; ++i)
          gradient[i] -= wanted.of(i, factor);
      gradient[label] -= own;
    }
    return wanted.mass * logSumExp - expected;
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
