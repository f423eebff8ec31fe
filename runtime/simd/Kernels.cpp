// The inner loops of Simd.h. Compiled once per instruction set, with
// SHARDC_SIMD_LEVEL naming the namespace; no code from other headers may be
// instantiated here, or the linker could pick this file's copy for a processor
// that cannot run it.
#include "runtime/simd/DroppedRow.h"
#include "runtime/simd/Simd.h"
#include "runtime/simd/SoftmaxRows.h"

namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL {
namespace {

template <typename T>
void sum(T *const *destinations, int copies, const T *const *sources, int terms,
         int64_t count) {
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> total = loadUpTo(sources[0] + i, n);
    for (int term = 1; term < terms; ++term)
      total += loadUpTo(sources[term] + i, n);
    for (int copy = 0; copy < copies; ++copy)
      storeUpTo(destinations[copy] + i, total, n);
  });
}

/// `terms`: of the sum; 0: as many as `number` says.
template <typename T, int terms>
SHARDC_INLINE Vector<T> sumAt(const T *const *sources, int number, int64_t i,
                              int64_t n) {
  Vector<T> total = loadUpTo(sources[0] + i, n);
  for (int term = 1; term < (terms ? terms : number); ++term)
    total += loadUpTo(sources[term] + i, n);
  return total;
}
template <typename T, int terms>
SHARDC_INLINE void sumStreamed(T *destination, const T *const *sources,
                               int number, int64_t count) {
  // Up to where the destination is aligned, and what is left behind.
  int64_t first =
      int64_t(-(uintptr_t)destination % sizeof(Vector<T>) / sizeof(T));
  first = first < count ? first : count;
  if (first > 0)
    storeUpTo(destination, sumAt<T, terms>(sources, number, 0, first), first);
  int64_t i = first;
  for (; i + lanes<T> <= count; i += lanes<T>)
    __builtin_nontemporal_store(sumAt<T, terms>(sources, number, i, lanes<T>),
                                reinterpret_cast<Vector<T> *>(destination + i));
  if (i < count)
    storeUpTo(destination + i, sumAt<T, terms>(sources, number, i, count - i),
              count - i);
#if defined(__x86_64__)
  __builtin_ia32_sfence(); // before who waits for them is told
#endif
}
template <typename T>
void sumAroundCaches(T *destination, const T *const *sources, int terms,
                     int64_t count) {
  const T *few[2] = {sources[0], sources[terms > 1]};
  if (terms == 1)
    sumStreamed<T, 1>(destination, few, 1, count);
  else if (terms == 2)
    sumStreamed<T, 2>(destination, few, 2, count);
  else
    sumStreamed<T, 0>(destination, sources, terms, count);
}

/// forLanes with two accumulators: the vectors go to 0, 1, 0, 1, ...
template <typename T, typename Body>
SHARDC_INLINE void forAlternatingLanes(int64_t count, Body body) {
  int64_t i = 0;
  for (; i + 2 * lanes<T> <= count; i += 2 * lanes<T>) {
    body(0, i, lanes<T>);
    body(1, i + lanes<T>, lanes<T>);
  }
  for (int which = 0; i < count; i += lanes<T>, ++which)
    body(which, i, count - i < lanes<T> ? count - i : lanes<T>);
}

template <typename T> double squaredNorm(const T *values, int64_t count) {
  Wide<T> total[2] = {};
  forAlternatingLanes<T>(count, [&](int which, int64_t i,
                                    int64_t n) __attribute__((always_inline)) {
    Wide<T> wide = __builtin_convertvector(loadUpTo(values + i, n), Wide<T>);
    total[which] += wide * wide;
  });
  return sumOfLanes<Wide<T>, double, lanes<T>>(total[0] + total[1]);
}

template <typename T> double absoluteSum(const T *values, int64_t count) {
  Wide<T> total[2] = {};
  forAlternatingLanes<T>(count, [&](int which, int64_t i,
                                    int64_t n) __attribute__((always_inline)) {
    auto magnitude = (Vector<T>)magnitudeBits(loadUpTo(values + i, n));
    total[which] += __builtin_convertvector(magnitude, Wide<T>);
  });
  return sumOfLanes<Wide<T>, double, lanes<T>>(total[0] + total[1]);
}

template <typename T> double largestAbsolute(const T *values, int64_t count) {
  Bits<T> largest[2] = {};
  int which = 0;
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Bits<T> bits = magnitudeBits(loadUpTo(values + i, n));
    largest[which] = bits > largest[which] ? bits : largest[which];
    which ^= 1;
  });
  Bits<T> both = largest[0] > largest[1] ? largest[0] : largest[1];
  auto result = both[0];
  for (int lane = 1; lane < lanes<T>; ++lane)
    result = both[lane] > result ? both[lane] : result;
  return __builtin_bit_cast(T, result);
}

SHARDC_INLINE Float16x widened(BFloat16, Word16x words) {
  return widenBFloat16(words);
}
SHARDC_INLINE Float16x widened(Float16, Word16x words) {
  return widenFloat16(words);
}
SHARDC_INLINE Word16x rounded(BFloat16, Float16x value) {
  return roundToBFloat16(value);
}
SHARDC_INLINE Word16x rounded(Float16, Float16x value) {
  return roundToFloat16(value);
}
template <typename H>
SHARDC_INLINE Float16x loadHalf(const H *from, int64_t n) {
  Word16x words = {};
  if (n == lanes<float>)
    __builtin_memcpy(&words, from, sizeof(words));
  else
    for (int64_t i = 0; i < n; ++i)
      words[i] = from[i].bits;
  return widened(H(), words);
}
template <typename H>
SHARDC_INLINE void storeHalf(H *to, Float16x value, int64_t n) {
  Word16x words = rounded(H(), value);
  if (n == lanes<float>)
    __builtin_memcpy(to, &words, sizeof(words));
  else
    for (int64_t i = 0; i < n; ++i)
      to[i].bits = words[i];
}

template <typename H> void widen(float *to, const H *from, int64_t count) {
  forLanes<float>(count, [&](int64_t i, int64_t n) {
    storeUpTo(to + i, loadHalf(from + i, n), n);
  });
}
template <typename H> void round(H *to, const float *from, int64_t count) {
  forLanes<float>(count, [&](int64_t i, int64_t n) {
    storeHalf(to + i, loadUpTo(from + i, n), n);
  });
}
template <typename H>
void sumHalves(H *const *destinations, int copies, const H *const *sources,
               int terms, int64_t count) {
  forLanes<float>(count, [&](int64_t i, int64_t n) {
    Float16x total = loadHalf(sources[0] + i, n);
    for (int term = 1; term < terms; ++term)
      total += loadHalf(sources[term] + i, n);
    for (int copy = 0; copy < copies; ++copy)
      storeHalf(destinations[copy] + i, total, n);
  });
}

template <typename T> void add(T *to, const T *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}
template <typename T> void scale(T *values, T factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    values[i] *= factor;
}
template <typename T> double dot(const T *a, const T *b, int64_t count) {
  Wide<T> total = {};
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    total += __builtin_convertvector(loadUpTo(a + i, n), Wide<T>) *
             __builtin_convertvector(loadUpTo(b + i, n), Wide<T>);
  });
  return sumOfLanes<Wide<T>, double, lanes<T>>(total);
}

// torch.optim.AdamW and Adam, the single-tensor path: lerp, addcmul, maximum
// (amsgrad) and addcdiv in the order that they are called there.
template <typename T, bool smallWeight, bool amsgrad>
SHARDC_INLINE void adamLoop(T *parameter, T *average, T *averageOfSquares,
                            T *largest, const T *gradient,
                            const AdamNumbers &numbers, int64_t count) {
  const T factor = T(numbers.gradientFactor), l2 = T(numbers.weightDecay),
          decay = T(numbers.decay), weight = T(1 - numbers.beta1),
          otherWeight = T(1 - (1 - numbers.beta1)), beta2 = T(numbers.beta2),
          squareWeight = T(1 - numbers.beta2), step = T(-numbers.stepSize),
          correction = T(numbers.secondCorrection),
          epsilon = T(numbers.epsilon);
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> p = loadUpTo(parameter + i, n);
    Vector<T> g = loadUpTo(gradient + i, n) * factor;
    g += p * l2;
    p *= decay;
    Vector<T> m = loadUpTo(average + i, n);
    // lerp picks the form that is exact at the nearer end.
    m = smallWeight ? m + weight * (g - m) : g - (g - m) * otherWeight;
    Vector<T> v = loadUpTo(averageOfSquares + i, n) * beta2;
    v += squareWeight * g * g;
    Vector<T> divisor = v;
    if constexpr (amsgrad) {
      Vector<T> most = loadUpTo(largest + i, n);
      // What is not a number stays visible, as in torch.maximum.
      divisor = most >= v ? most : v;
      divisor = most == most ? divisor : most;
      storeUpTo(largest + i, divisor, n);
    }
    Vector<T> denominator = squareRoot<T>(divisor) / correction + epsilon;
    p += step * m / denominator;
    storeUpTo(parameter + i, p, n);
    storeUpTo(average + i, m, n);
    storeUpTo(averageOfSquares + i, v, n);
  });
}
template <typename T>
void adam(T *parameter, T *average, T *averageOfSquares, T *largest,
          const T *gradient, const AdamNumbers &numbers, int64_t count) {
  bool smallWeight = 1 - numbers.beta1 < 0.5;
  auto loop =
      largest
          ? (smallWeight ? adamLoop<T, true, true> : adamLoop<T, false, true>)
          : (smallWeight ? adamLoop<T, true, false>
                         : adamLoop<T, false, false>);
  loop(parameter, average, averageOfSquares, largest, gradient, numbers, count);
}

// Algorithm 2 of arXiv:2302.06675: the parameter moves by the sign of a mean of
// momentum and gradient, and the momentum follows with another weight.
template <typename T>
void lion(T *parameter, T *average, const T *gradient,
          const LionNumbers &numbers, int64_t count) {
  const T factor = T(numbers.gradientFactor), decay = T(numbers.decay),
          beta1 = T(numbers.beta1), gradientWeight1 = T(1 - numbers.beta1),
          beta2 = T(numbers.beta2), gradientWeight2 = T(1 - numbers.beta2),
          rate = T(numbers.learningRate);
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> p = loadUpTo(parameter + i, n) * decay;
    Vector<T> g = loadUpTo(gradient + i, n) * factor;
    Vector<T> m = loadUpTo(average + i, n);
    Vector<T> update = m * beta1 + g * gradientWeight1;
    Vector<T> still = p;
    p = update > T(0) ? still - rate : p;
    p = update < T(0) ? still + rate : p;
    storeUpTo(parameter + i, p, n);
    storeUpTo(average + i, m * beta2 + g * gradientWeight2, n);
  });
}

// torch.lerp: it reaches either end exactly.
template <typename T>
Vector<T> between(Vector<T> from, Vector<T> to, double weight) {
  return weight < 0.5 ? from + (to - from) * T(weight)
                      : to - (to - from) * T(1 - weight);
}

template <typename T>
void momentum(T *direction, T *buffer, const T *gradient,
              const MomentumNumbers &numbers, int64_t count) {
  const T factor = T(numbers.gradientFactor);
  const double mu = numbers.momentum;
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> g = loadUpTo(gradient + i, n) * factor;
    Vector<T> b = between<T>(loadUpTo(buffer + i, n), g, 1 - mu);
    storeUpTo(buffer + i, b, n);
    storeUpTo(direction + i, numbers.nesterov ? between<T>(g, b, mu) : b, n);
  });
}

template <typename T>
void follow(T *parameter, const T *direction, double decay, double rate,
            int64_t count) {
  const T kept = T(decay), step = T(-rate);
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> p = loadUpTo(parameter + i, n) * kept;
    storeUpTo(parameter + i, p + loadUpTo(direction + i, n) * step, n);
  });
}

// torch.optim.Adagrad, the single-tensor path, with lr_decay 0.
template <typename T>
void adagrad(T *parameter, T *sumOfSquares, const T *gradient,
             const AdagradNumbers &numbers, int64_t count) {
  const T factor = T(numbers.gradientFactor), l2 = T(numbers.weightDecay),
          rate = T(-numbers.learningRate), epsilon = T(numbers.epsilon);
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> p = loadUpTo(parameter + i, n);
    Vector<T> g = loadUpTo(gradient + i, n) * factor;
    g += p * l2;
    Vector<T> sum = loadUpTo(sumOfSquares + i, n) + g * g;
    storeUpTo(sumOfSquares + i, sum, n);
    storeUpTo(parameter + i, p + rate * g / (squareRoot<T>(sum) + epsilon), n);
  });
}

// torch.optim.SGD with dampening 0. The buffer begins at zero, so the first
// step leaves the gradient in it, as torch does.
template <typename T>
void sgd(T *parameter, T *buffer, const T *gradient, const SgdNumbers &numbers,
         int64_t count) {
  const T factor = T(numbers.gradientFactor), l2 = T(numbers.weightDecay),
          momentum = T(numbers.momentum), rate = T(-numbers.learningRate);
  const bool withMomentum = numbers.momentum != 0, nesterov = numbers.nesterov;
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    Vector<T> p = loadUpTo(parameter + i, n);
    Vector<T> g = loadUpTo(gradient + i, n) * factor;
    g += p * l2;
    if (withMomentum) {
      Vector<T> b = loadUpTo(buffer + i, n) * momentum + g;
      storeUpTo(buffer + i, b, n);
      g = nesterov ? g + momentum * b : b;
    }
    storeUpTo(parameter + i, p + rate * g, n);
  });
}

template <typename T>
double logSumExp(const T *logits, T *exponentials, double *sum, int64_t count) {
  Vector<T> largest[2] = {broadcast(-infinity<T>), broadcast(-infinity<T>)};
  int which = 0;
  forLanes<T>(count, [&](int64_t i, int64_t n) {
    largest[which] =
        larger<T>(loadUpTo(logits + i, n, -infinity<T>), largest[which]);
    which ^= 1;
  });
  T maximum = largestLane<T>(larger<T>(largest[0], largest[1]));
  T shift = maximum == -infinity<T> ? T(0) : maximum;
  // A few thousand terms per lane would cost float its last bits: runs of 64 go
  // into double.
  constexpr int64_t run = 64 * lanes<T>;
  Wide<T> total = {};
  for (int64_t begin = 0; begin < count; begin += run) {
    int64_t size = count - begin < run ? count - begin : run;
    Vector<T> part = {};
    forLanes<T>(size, [&](int64_t i, int64_t n) {
      Vector<T> e =
          exponential(loadUpTo(logits + begin + i, n, -infinity<T>) - shift);
      if (exponentials)
        storeUpTo(exponentials + begin + i, e, n);
      part += e;
    });
    total += __builtin_convertvector(part, Wide<T>);
  }
  double all = sumOfLanes<Wide<T>, double, lanes<T>>(total);
  if (sum)
    *sum = all;
  return double(shift) + __builtin_log(all);
}

template <typename H>
SHARDC_INLINE Float16x loadLogits(const H *from, int64_t n) {
  Float16x logits = loadHalf(from, n);
  for (int64_t lane = n; lane < lanes<float>; ++lane)
    logits[lane] = -infinity<float>;
  return logits;
}
template <typename H> LogitsSum logitsSum(const H *logits, int64_t count) {
  Float16x largest[2] = {broadcast(-infinity<float>),
                         broadcast(-infinity<float>)};
  int which = 0;
  forLanes<float>(count, [&](int64_t i, int64_t n) {
    largest[which] = larger<float>(loadLogits(logits + i, n), largest[which]);
    which ^= 1;
  });
  float maximum = largestLane<float>(larger<float>(largest[0], largest[1]));
  float shift = maximum == -infinity<float> ? 0 : maximum;
  constexpr int64_t run = 64 * lanes<float>; // see logSumExp
  Wide<float> total = {};
  for (int64_t begin = 0; begin < count; begin += run) {
    int64_t size = count - begin < run ? count - begin : run;
    Float16x part = {};
    forLanes<float>(size, [&](int64_t i, int64_t n) {
      part += exponential(loadLogits(logits + begin + i, n) - shift);
    });
    total += __builtin_convertvector(part, Wide<float>);
  }
  return {shift, sumOfLanes<Wide<float>, double, lanes<float>>(total)};
}
template <typename H>
void crossEntropyGradient(const H *logits, H *gradient, LogitsSum row,
                          float factor, float own, float uniform, int64_t label,
                          int64_t count) {
  const float scale = float(factor / row.sum);
  auto probability = [&](int64_t i, int64_t n) {
    return exponential(loadLogits(logits + i, n) - row.maximum) * scale -
           uniform;
  };
  Float16x atLabel = probability(label, 1) - own;
  forLanes<float>(count, [&](int64_t i, int64_t n) {
    storeHalf(gradient + i, probability(i, n), n);
  });
  storeHalf(gradient + label, atLabel, 1);
}

template <typename T>
constexpr Simd<T> table = {sum<T>,
                           sumAroundCaches<T>,
                           squaredNorm<T>,
                           absoluteSum<T>,
                           largestAbsolute<T>,
                           add<T>,
                           scale<T>,
                           dot<T>,
                           adam<T>,
                           lion<T>,
                           adagrad<T>,
                           sgd<T>,
                           momentum<T>,
                           follow<T>,
                           softmaxRow<T>,
                           probabilityRow<T>,
                           softmaxGradientRow<T>,
                           softcapRow<T>,
                           softcapGradientRow<T>,
                           droppedRow<T>,
                           multiply<T>,
                           logSumExp<T>};

template <typename H>
constexpr HalfSimd<H> halfTable = {widen<H>, round<H>, sumHalves<H>,
                                   logitsSum<H>, crossEntropyGradient<H>};

} // namespace

extern const Simd<float> floatTable;
extern const Simd<double> doubleTable;
extern const HalfSimd<BFloat16> bfloat16Table;
extern const HalfSimd<Float16> float16Table;
const Simd<float> floatTable = table<float>;
const Simd<double> doubleTable = table<double>;
const HalfSimd<BFloat16> bfloat16Table = halfTable<BFloat16>;
const HalfSimd<Float16> float16Table = halfTable<Float16>;

} // namespace shardc::runtime::simd::SHARDC_SIMD_LEVEL
