// Cross entropy, row by row: the loss and, in a second pass over what is still
// in the cache, the gradient of the logits.
#include "runtime/cuda/kernels/BlockSums.h"
#include "runtime/cuda/kernels/CrossEntropyParameters.h"
#include "runtime/cuda/kernels/Functions.h"
#include "runtime/cuda/kernels/Memory.h"

namespace shardc::runtime::cuda {

constexpr Count noLabel = -1;

/// The label of a row: in [0, classes), or noLabel.
SHARDC_DEVICE Count labelOf(const LabelsParameters &of, Count row) {
  if (row % of.length + of.shift >= of.length)
    return noLabel;
  Count position = row + of.shift, index = position, offset = 0;
  for (int dim = int(of.rank) - 1; dim >= 0; --dim) {
    offset += index % of.sizes[dim] * of.strides[dim];
    index /= of.sizes[dim];
  }
  Count label = of.isWide ? at<const long long>(of.labels)[offset]
                          : at<const int>(of.labels)[offset];
  if (label == of.ignoreIndex)
    return noLabel;
  if (label >= 0 && label < of.classes)
    return label;
  if (threadOfBlock() == 0)
    atomicMin(at<unsigned long long>(of.fault), faultOf(position, label));
  return noLabel;
}

/// The sum of exp(x - largest) over the x that were added, as they come.
template <typename C> struct ExponentialSum {
  C largest = -infinity<C>, sum = 0;

  /// What is subtracted: where nothing is above -inf, exp(-inf - 0) gives zeros,
  /// and lets what is no number through.
  SHARDC_DEVICE C shift() const {
    return largest == -infinity<C> ? 0 : largest;
  }

  template <int size> SHARDC_DEVICE void add(const C (&values)[size]) {
    C before = largest;
#pragma unroll
    for (int i = 0; i < size; ++i)
      largest = larger(values[i], largest);
    if (largest > before)
      sum *= exponential(before - largest);
    C part = 0, by = shift();
#pragma unroll
    for (int i = 0; i < size; ++i)
      part += exponential(values[i] - by);
    sum += part;
  }
};

/// A row of logits as the threads of a block go through it: packs where both
/// the row and what is written lie for them, then single ones.
template <typename T> struct Row {
  static constexpr int size = 16 / sizeof(T);
  using C = Compute<T>;
  const T *logits;
  Count classes, packs;
  C softcap;

  SHARDC_DEVICE Row(Address logits, Address written, Count classes, C softcap)
      : logits(at<const T>(logits)), classes(classes), softcap(softcap),
        packs(isAligned<T, size>(logits) && isAligned<T, size>(written)
                  ? classes / size
                  : 0) {}

  SHARDC_DEVICE void read(Count pack, C (&values)[size]) const {
    auto stored = reinterpret_cast<const Pack<T, size> *>(logits)[pack];
#pragma unroll
    for (int i = 0; i < size; ++i)
      values[i] = capped(widened(stored.values[i]));
  }
  SHARDC_DEVICE C one(Count i) const { return capped(widened(logits[i])); }
  SHARDC_DEVICE C capped(C logit) const {
    return softcap == 0 ? logit : softcap * hyperbolicTangent(logit / softcap);
  }
  /// What a softcap's derivative is, by what it has left.
  SHARDC_DEVICE C slope(C logit) const {
    C bounded = logit / softcap;
    return softcap == 0 ? 1 : 1 - bounded * bounded;
  }
};

/// Whether a logit of class i keeps the label's from being the first largest.
template <typename C>
SHARDC_DEVICE bool beats(C logit, Count i, C own, Count label) {
  return i < label ? !(logit < own) : i > label && !(logit <= own);
}

/// What a class weighs.
template <typename C>
SHARDC_DEVICE C weightOf(const LabelsParameters &of, Count i) {
  return of.weights ? at<const C>(of.weights)[i] : 1;
}

/// What a gradient subtracts: of each class, and at the label.
template <typename C> struct WantedGradient {
  const LabelsParameters &labels;
  Count label;
  C own, uniform;

  SHARDC_DEVICE WantedGradient(const LabelsParameters &of, Count label,
                               C factor)
      : labels(of), label(label),
        own(C(double(factor) *
              ((1 - of.smoothing) * double(weightOf<C>(of, label))))),
        uniform(C(double(factor) * of.smoothing / double(of.classes))) {}

  SHARDC_DEVICE C of(Count i) const {
    C ofClass = labels.weights && uniform != 0
                    ? uniform * weightOf<C>(labels, i)
                    : uniform;
    return i == label ? own + ofClass : ofClass;
  }
};

template <typename T>
SHARDC_DEVICE void writeGradient(const Row<T> &row, T *gradient,
                                 const WantedGradient<Compute<T>> &wanted,
                                 Compute<T> shift, Compute<T> scale) {
  using C = Compute<T>;
  constexpr int size = Row<T>::size;
  auto slope = [&](C logit, Count i) {
    C result = exponential(logit - shift) * scale - wanted.of(i);
    return row.softcap == 0 ? result : result * row.slope(logit);
  };
  Count threads = threadsOfBlock();
  for (Count i = row.packs * size + threadOfBlock(); i < row.classes;
       i += threads)
    round(slope(row.one(i), i), gradient[i]);
  // Backwards: what was read last is still near.
  Count last = row.packs - 1 - threadOfBlock();
  for (Count pack = last; pack >= 0; pack -= threads) {
    C values[size];
    Pack<T, size> slopes;
    row.read(pack, values);
#pragma unroll
    for (int i = 0; i < size; ++i)
      round(slope(values[i], pack * size + i), slopes.values[i]);
    reinterpret_cast<Pack<T, size> *>(gradient)[pack] = slopes;
  }
}

template <typename T>
SHARDC_INLINE void crossEntropyRow(const CrossEntropyParameters &with,
                                   Count number) {
  using C = Compute<T>;
  constexpr int size = Row<T>::size;
  SHARDC_SHARED C largests[mostWarps];
  SHARDC_SHARED double sums[mostWarps];
  Count classes = with.labels.classes;
  Address logits = with.logits + number * with.stride * sizeof(T),
          gradient =
              with.gradient
                  ? with.gradient + number * with.gradientStride * sizeof(T)
                  : 0;
  Row<T> row(logits, gradient, classes, C(with.softcap));
  Count thread = threadOfBlock(), threads = threadsOfBlock();
  Count label = labelOf(with.labels, with.firstRow + number);
  if (label == noLabel) {
    if (with.losses && thread == 0)
      at<double>(with.losses)[with.firstRow + number] = 0;
    for (Count i = thread; gradient && i < classes; i += threads)
      round(0, at<T>(gradient)[i]);
    return;
  }
  // Read before other threads write the gradient to its place.
  C own = row.one(label);
  ExponentialSum<C> sum;
  // Where labels are smoothed: the sum of the logits by their weights, and that
  // of the weights.
  double plain = 0, weights = 0;
  const bool isSmoothed = with.labels.smoothing != 0;
  auto addSmoothed = [&](C logit, Count i) {
    if (!with.labels.weights) {
      plain += double(logit);
      return;
    }
    double weight = double(weightOf<C>(with.labels, i));
    plain += weight * double(logit);
    weights += weight;
  };
  bool isBeaten = !(own == own);
  for (Count pack = thread; pack < row.packs; pack += threads) {
    C values[size];
    row.read(pack, values);
    sum.add(values);
    for (int i = 0; isSmoothed && i < size; ++i)
      addSmoothed(values[i], pack * size + i);
    if (with.correct)
      for (int i = 0; i < size; ++i)
        isBeaten |= beats(values[i], pack * size + i, own, label);
  }
  for (Count i = row.packs * size + thread; i < classes; i += threads) {
    C value[] = {row.one(i)};
    sum.add(value);
    if (isSmoothed)
      addSmoothed(value[0], i);
    isBeaten |= beats(value[0], i, own, label);
  }
  ExponentialSum<C> all;
  all.largest = overBlock(sum.largest, -infinity<C>, largests, larger<C>);
  C shift = all.shift();
  auto plus = [](double a, double b) { return a + b; };
  double total = overBlock(double(sum.sum * exponential(sum.largest - shift)),
                           0.0, sums, plus);
  if (with.correct) {
    double beaten = overBlock(isBeaten ? 1.0 : 0.0, 0.0, sums, plus);
    if (thread == 0 && beaten == 0)
      atomicAdd(at<long long>(with.correct), 1);
  }
  // What is wanted of the label, of all classes, and by it of the logits.
  const double ofEach = with.labels.smoothing / double(classes),
               ofLabel = (1 - with.labels.smoothing) *
                         double(weightOf<C>(with.labels, label));
  double mass = with.labels.weights ? ofLabel : 1,
         expected = ofLabel * double(own);
  if (isSmoothed)
    expected += ofEach * overBlock(plain, 0.0, sums, plus);
  if (isSmoothed && with.labels.weights)
    mass += ofEach * overBlock(weights, 0.0, sums, plus);
  if (with.losses && thread == 0)
    at<double>(with.losses)[with.firstRow + number] =
        mass * (double(shift) + logarithm(total)) - expected;
  if (!gradient)
    return;
  C factor = *at<const C>(with.scale);
  if (with.outer)
    factor *= *at<const C>(with.outer);
  writeGradient(row, at<T>(gradient),
                WantedGradient<C>(with.labels, label, factor), shift,
                C(factor * mass / total));
}

template <typename T>
SHARDC_INLINE void crossEntropy(const CrossEntropyParameters &with) {
  for (Count row = blockOfGrid(); row < with.rows; row += blocksOfGrid())
    crossEntropyRow<T>(with, row);
}

template <typename T>
SHARDC_DEVICE void lossSum(const LossSumParameters &with) {
  SHARDC_SHARED double sums[mostWarps];
  double sum = 0;
  for (Count row = threadOfBlock(); row < with.rows; row += threadsOfBlock())
    sum += at<const double>(with.losses)[row];
  sum = overBlock(sum, 0.0, sums, [](double a, double b) { return a + b; });
  if (threadOfBlock() != 0)
    return;
  *at<T>(with.loss) = T(double(*at<const T>(with.scale)) * sum);
  if (with.correct)
    *at<double>(with.correct) = double(*at<const long long>(with.correct));
}

template <typename T>
SHARDC_DEVICE void columnSums(const ColumnSumsParameters &with) {
  using C = Compute<T>;
  auto *sums = at<C>(with.sums);
  for (Count column = firstElement(); column < with.columns;
       column += threadsOfGrid()) {
    auto *value = at<const T>(with.matrix) + column;
    C sum = with.adds ? sums[column] : 0;
#pragma unroll 8
    for (Count row = 0; row < with.rows; ++row)
      sum += widened(value[row * with.stride]);
    sums[column] = sum;
  }
}

template <typename T>
SHARDC_DEVICE void roundRows(const RoundRowsParameters &with) {
  constexpr int size = 16 / sizeof(T);
  auto *source = at<const float>(with.source);
  auto *destination = at<T>(with.destination);
  Count elements = with.rows * with.columns, step = threadsOfGrid();
  if (with.columns % size == 0 && with.stride % size == 0 &&
      isAligned<float, size>(with.source) &&
      isAligned<T, size>(with.destination)) {
    for (Count i = firstElement() * size; i < elements; i += step * size) {
      auto values = *reinterpret_cast<const Pack<float, size> *>(source + i);
      Pack<T, size> rounded;
#pragma unroll
      for (int lane = 0; lane < size; ++lane)
        round(values.values[lane], rounded.values[lane]);
      *reinterpret_cast<Pack<T, size> *>(
          destination + i / with.columns * with.stride + i % with.columns) =
          rounded;
    }
    return;
  }
  for (Count i = firstElement(); i < elements; i += step)
    round(source[i],
          destination[i / with.columns * with.stride + i % with.columns]);
}

#define SHARDC_LOGITS(name, T)                                                 \
  SHARDC_KERNEL void cross_entropy_##name(CrossEntropyParameters with) {       \
    crossEntropy<T>(with);                                                     \
  }                                                                            \
  SHARDC_KERNEL void column_sums_##name(ColumnSumsParameters with) {           \
    columnSums<T>(with);                                                       \
  }
SHARDC_LOGITS(f64, double)
SHARDC_LOGITS(f32, float)
SHARDC_LOGITS(bf16, Bf16)
SHARDC_LOGITS(f16, F16)
SHARDC_KERNEL void loss_sum_f64(LossSumParameters with) {
  lossSum<double>(with);
}
SHARDC_KERNEL void loss_sum_f32(LossSumParameters with) {
  lossSum<float>(with);
}
SHARDC_KERNEL void round_rows_bf16(RoundRowsParameters with) {
  roundRows<Bf16>(with);
}
SHARDC_KERNEL void round_rows_f16(RoundRowsParameters with) {
  roundRows<F16>(with);
}

} // namespace shardc::runtime::cuda
