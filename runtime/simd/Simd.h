// The inner loops that want wide vector registers: one source (Kernels.cpp),
// compiled for several instruction sets, chosen once by what the processor has.
// Everything here is serial; who calls it splits the work.
#ifndef SHARDC_RUNTIME_SIMD_SIMD_H
#define SHARDC_RUNTIME_SIMD_SIMD_H

#include "runtime/simd/Half.h"

#include <cstdint>

namespace shardc::runtime::simd {

/// What adam, adamw and amsgrad take, already in double (torch computes these
/// scalars in double, then casts to the type).
struct AdamNumbers {
  double gradientFactor; // clipping, loss scale
  double weightDecay;    // l2: added to the gradient; decoupled: see decay
  double decay;          // decoupled: 1 - lr * weight decay, else 1
  double beta1, beta2;
  double stepSize;         // lr / (1 - beta1^step)
  double secondCorrection; // sqrt(1 - beta2^step)
  double epsilon;
};
struct LionNumbers {
  double gradientFactor;
  double decay; // 1 - lr * weight decay
  double beta1, beta2;
  double learningRate;
};
struct MomentumNumbers {
  double gradientFactor;
  double momentum;
  bool nesterov;
};
struct AdagradNumbers {
  double gradientFactor;
  double weightDecay;
  double learningRate;
  double epsilon;
};
struct SgdNumbers {
  double gradientFactor;
  double weightDecay;
  double momentum;
  double learningRate;
  bool nesterov;
};

/// What is drawn for a row of attention's probabilities (docs/randomness.md): the
/// key for the row, the sample, and what the keys' parts are compared with.
struct DrawnRow {
  uint32_t key0, key1, sample;
  int32_t threshold;
  double scale; // of what is kept
};

/// Softmax statistics of a row.
template <typename T> struct RowSum {
  T maximum; // -inf when every score is
  T sum;     // of exp(score - maximum)
};

template <typename T> struct Simd {
  /// destinations[d][i] = ((sources[0][i] + sources[1][i]) + ...) for all d. A
  /// destination may be a source.
  void (*sum)(T *const *destinations, int copies, const T *const *sources,
              int terms, int64_t count);
  /// The same sums, stored around the caches: for results that are too large
  /// to be found there when they are read. The destination may be a source.
  void (*sumAroundCaches)(T *destination, const T *const *sources, int terms,
                          int64_t count);
  /// Sum of squares in double, in one fixed order.
  double (*squaredNorm)(const T *values, int64_t count);
  /// Sum of absolute values in double, in one fixed order.
  double (*absoluteSum)(const T *values, int64_t count);
  /// Not a number where one value is not.
  double (*largestAbsolute)(const T *values, int64_t count);
  /// to[i] += from[i].
  void (*add)(T *to, const T *from, int64_t count);
  void (*scale)(T *values, T factor, int64_t count);
  double (*dot)(const T *a, const T *b, int64_t count);

  /// `largest`: amsgrad's largest average of squares so far; null for the
  /// others.
  void (*adam)(T *parameter, T *average, T *averageOfSquares, T *largest,
               const T *gradient, const AdamNumbers &numbers, int64_t count);
  void (*lion)(T *parameter, T *average, const T *gradient,
               const LionNumbers &numbers, int64_t count);
  void (*adagrad)(T *parameter, T *sumOfSquares, const T *gradient,
                  const AdagradNumbers &numbers, int64_t count);
  /// `buffer`: momentum; not read or written where momentum is 0.
  void (*sgd)(T *parameter, T *buffer, const T *gradient,
              const SgdNumbers &numbers, int64_t count);

  /// torch.optim.Muon's, before a matrix is whole: the buffer moves towards the
  /// gradient by 1 - momentum of the way, and the direction is the buffer, or
  /// what lies between gradient and buffer as far.
  void (*momentum)(T *direction, T *buffer, const T *gradient,
                   const MomentumNumbers &numbers, int64_t count);
  /// parameter[i] = parameter[i] * decay - rate * direction[i].
  void (*follow)(T *parameter, const T *direction, double decay, double rate,
                 int64_t count);

  /// One row of attention scores, in place: adds bias (null: none), sets those
  /// with a false mask (null: none) to -inf, replaces score by exp(score -
  /// maximum), where maximum is over the row and `floor`. A row without any
  /// score above -inf becomes zeros with sum 0.
  RowSum<T> (*softmaxRow)(T *scores, const T *bias, const uint8_t *mask,
                          T floor, int64_t count);
  /// The same scores given their log_sum_exp: score becomes the probability;
  /// zeros where log_sum_exp is -inf.
  void (*probabilityRow)(T *scores, const T *bias, const uint8_t *mask,
                         T logSumExp, int64_t count);
  /// gradients[i] = probabilities[i] * (gradients[i] - delta) * scale, and that
  /// times slopes[i], if there are any (null: none).
  void (*softmaxGradientRow)(T *gradients, const T *probabilities, T delta,
                             T scale, const T *slopes, int64_t count);
  /// scores[i] = cap * tanh(scores[i] / cap); its derivative goes to slopes
  /// (null: it is not wanted).
  void (*softcapRow)(T *scores, T *slopes, T cap, int64_t count);
  /// logits[i] = (exp(logits[i] - shift) * factor - uniform) *
  /// (1 - (logits[i] / cap)^2), of logits that softcapRow has left.
  void (*softcapGradientRow)(T *logits, T cap, T shift, T factor, T uniform,
                             int64_t count);

  /// What probabilities of keys from `first` on, a multiple of 64, are multiplied
  /// with: the scale, or 0 where they are dropped. Writes up to the next
  /// multiple of 64 behind `count`.
  void (*droppedRow)(T *factors, const DrawnRow &row, int64_t first,
                     int64_t count);
  /// values[i] *= factors[i].
  void (*multiply)(T *values, const T *factors, int64_t count);

  /// log(sum(exp(logits))) in double. Where `exponentials` is given (it may be
  /// `logits`): exponentials[i] = exp(logits[i] - maximum), and *sum their sum.
  double (*logSumExp)(const T *logits, T *exponentials, double *sum,
                      int64_t count);
};

/// The largest of a row of logits, and the sum of exp(logit - maximum).
struct LogitsSum {
  float maximum; // 0 where every logit is -inf, so that it can be subtracted
  double sum;
};

/// Loops over 16-bit elements. Rounding is to nearest even.
template <typename H> struct HalfSimd {
  void (*widen)(float *to, const H *from, int64_t count);
  void (*round)(H *to, const float *from, int64_t count);
  /// As Simd::sum: the sum in float32, rounded once.
  void (*sum)(H *const *destinations, int copies, const H *const *sources,
              int terms, int64_t count);
  /// In the order of Simd::logSumExp.
  LogitsSum (*logitsSum)(const H *logits, int64_t count);
  /// gradient[i] = exp(logits[i] - row.maximum) * factor / row.sum - uniform,
  /// less `own` at `label`; each rounded once. `gradient` may be `logits`.
  void (*crossEntropyGradient)(const H *logits, H *gradient, LogitsSum row,
                               float factor, float own, float uniform,
                               int64_t label, int64_t count);
};

/// The loops for this machine's processor. T: float, double.
template <typename T> const Simd<T> &loops();
/// H: BFloat16, Float16.
template <typename H> const HalfSimd<H> &halfLoops();

} // namespace shardc::runtime::simd

#endif
