// Optimizer steps over ranges, with the operations of runtime/simd/Kernels.cpp
// in their order, so that bits are the processor's.
#include "runtime/base/SplitMaster.h"
#include "runtime/cuda/kernels/BlockSums.h"
#include "runtime/cuda/kernels/Memory.h"
#include "runtime/cuda/kernels/OptimizerParameters.h"

namespace shardc::runtime::cuda {

SHARDC_DEVICE float squareRoot(float value) { return __builtin_sqrtf(value); }
SHARDC_DEVICE double squareRoot(double value) { return __builtin_sqrt(value); }
SHARDC_DEVICE bool isFinite(double value) { return value - value == 0; }

/// What a step takes from the run, for all of its ranges.
struct Step {
  double factor; // of gradients
  double learningRate, firstCorrection, secondCorrection;
  bool isSkipped;

  template <typename Parameters>
  SHARDC_INLINE explicit Step(const Parameters &with) {
    auto *numbers = at<const RunNumbers>(with.numbers);
    double norm = 0, clipping = 1;
    if (with.norm) {
      double powers = *at<const double>(with.norm);
      norm = (numbers->norm == 2 ? squareRoot(powers) : powers) *
             numbers->gradientFactor;
    }
    if (numbers->clip > 0)
      clipping = numbers->clip / (norm + 1e-6);
    if (clipping > 1)
      clipping = 1;
    factor = numbers->gradientFactor * clipping;
    learningRate = numbers->learningRate;
    firstCorrection = numbers->firstCorrection;
    secondCorrection = numbers->secondCorrection;
    isSkipped = !isFinite(norm) ||
                (with.loss && !isFinite(*at<const double>(with.loss)));
  }
};

/// A formula takes parameter p, gradient g and states s, which it changes, and
/// returns the new parameter. T is what is computed in. Where it is not scaled,
/// gradients are as they were summed.
template <typename T> struct Adam {
  static constexpr int states = 3;
  static constexpr bool isScaled = true;
  T l2, decay, weight, otherWeight, beta2, squareWeight, step, correction,
      epsilon;
  bool hasSmallWeight, isAmsGrad;

  SHARDC_INLINE Adam(const OptimizerParameters &with, const Step &of,
                     const OptimizerRange &range)
      : beta2(T(with.beta2)), squareWeight(T(1 - with.beta2)),
        epsilon(T(with.epsilon)), hasSmallWeight(1 - with.beta1 < 0.5),
        isAmsGrad(with.states[2]) {
    double rate = of.learningRate * range.learningRateScale;
    l2 = T(with.isDecoupled ? 0 : range.weightDecay);
    decay = T(with.isDecoupled ? 1 - rate * range.weightDecay : 1);
    weight = T(1 - with.beta1);
    otherWeight = T(1 - (1 - with.beta1));
    step = T(-(rate / of.firstCorrection));
    correction = T(of.secondCorrection);
  }

  SHARDC_INLINE T operator()(T p, T g, T (&s)[3]) const {
    g += p * l2;
    p *= decay;
    T m = s[0];
    m = hasSmallWeight ? m + weight * (g - m) : g - (g - m) * otherWeight;
    T v = s[1] * beta2;
    v += squareWeight * g * g;
    s[0] = m;
    s[1] = v;
    T divisor = v;
    if (isAmsGrad) {
      T most = s[2];
      divisor = most >= v ? most : v;
      divisor = most == most ? divisor : most;
      s[2] = divisor;
    }
    return p + step * m / (squareRoot(divisor) / correction + epsilon);
  }
};

template <typename T> struct Sgd {
  static constexpr int states = 1;
  static constexpr bool isScaled = true;
  T l2, momentum, rate;
  bool hasMomentum, nesterov;

  SHARDC_INLINE Sgd(const OptimizerParameters &with, const Step &of,
                    const OptimizerRange &range)
      : l2(T(range.weightDecay)), momentum(T(with.momentum)),
        rate(T(-(of.learningRate * range.learningRateScale))),
        hasMomentum(with.momentum != 0), nesterov(with.nesterov) {}

  SHARDC_INLINE T operator()(T p, T g, T (&s)[1]) const {
    g += p * l2;
    if (hasMomentum) {
      T b = s[0] * momentum + g;
      s[0] = b;
      g = nesterov ? g + momentum * b : b;
    }
    return p + rate * g;
  }
};

template <typename T> struct Lion {
  static constexpr int states = 1;
  static constexpr bool isScaled = true;
  T decay, beta1, gradientWeight1, beta2, gradientWeight2, rate;

  SHARDC_INLINE Lion(const OptimizerParameters &with, const Step &of,
                     const OptimizerRange &range)
      : beta1(T(with.beta1)), gradientWeight1(T(1 - with.beta1)),
        beta2(T(with.beta2)), gradientWeight2(T(1 - with.beta2)),
        rate(T(of.learningRate * range.learningRateScale)) {
    decay =
        T(1 - of.learningRate * range.learningRateScale * range.weightDecay);
  }

  SHARDC_INLINE T operator()(T p, T g, T (&s)[1]) const {
    p *= decay;
    T update = s[0] * beta1 + g * gradientWeight1;
    s[0] = s[0] * beta2 + g * gradientWeight2;
    return update > 0 ? p - rate : update < 0 ? p + rate : p;
  }
};

template <typename T> struct Adagrad {
  static constexpr int states = 1;
  static constexpr bool isScaled = true;
  T l2, rate, epsilon;

  SHARDC_INLINE Adagrad(const OptimizerParameters &with, const Step &of,
                        const OptimizerRange &range)
      : l2(T(range.weightDecay)),
        rate(T(-(of.learningRate * range.learningRateScale))),
        epsilon(T(with.epsilon)) {}

  SHARDC_INLINE T operator()(T p, T g, T (&s)[1]) const {
    g += p * l2;
    s[0] += g * g;
    return p + rate * g / (squareRoot(s[0]) + epsilon);
  }
};

/// Directions of matrices, and gradients of running statistics, which have no
/// rate: neither has a loss scale.
template <typename T> struct Follow {
  static constexpr int states = 1;
  static constexpr bool isScaled = false;
  T decay = 1, step = -1;

  SHARDC_INLINE Follow(const OptimizerParameters &, const Step &of,
                       const OptimizerRange &range) {
    if (range.matrixScale == 0)
      return;
    double rate = of.learningRate * range.learningRateScale;
    decay = T(1 - rate * range.weightDecay);
    step = T(-(rate * range.matrixScale));
  }

  SHARDC_INLINE T operator()(T p, T g, T (&)[1]) const {
    return p * decay + g * step;
  }
};

/// Rounds masters as they are stored.
template <typename To, typename T, int size>
SHARDC_DEVICE void store(const Pack<T, size> &masters, Address copy, Count i) {
  Pack<To, size> rounded;
#pragma unroll
  for (int lane = 0; lane < size; ++lane)
    round(widen(masters.values[lane]), rounded.values[lane]);
  *reinterpret_cast<Pack<To, size> *>(at<To>(copy) + i) = rounded;
}

/// How masters lie in memory; those of a type side by side.
template <typename T> struct Masters {
  using Value = T;

  template <int size>
  SHARDC_INLINE static bool areAligned(const OptimizerParameters &with) {
    return isAligned<T, size>(with.master) && isAligned<float, size>(with.copy);
  }
  template <int size>
  SHARDC_INLINE static Pack<T, size> load(const OptimizerParameters &with,
                                          Count i) {
    return *reinterpret_cast<const Pack<T, size> *>(at<const T>(with.master) +
                                                    i);
  }
  template <int size>
  SHARDC_INLINE static void store(const OptimizerParameters &with,
                                  const Pack<T, size> &masters, Count i) {
    *reinterpret_cast<Pack<T, size> *>(at<T>(with.master) + i) = masters;
    if (!with.copy)
      return;
    if (with.copyType == CopyBfloat16)
      cuda::store<Bf16>(masters, with.copy, i);
    else if (with.copyType == CopyFloat16)
      cuda::store<F16>(masters, with.copy, i);
    else
      cuda::store<float>(masters, with.copy, i);
  }
};

struct Split;
template <> struct Masters<Split> {
  using Value = float;
  using Word64 = unsigned long long;

  template <int size>
  SHARDC_INLINE static bool areAligned(const OptimizerParameters &with) {
    return isAligned<Word16, size>(with.master) &&
           isAligned<Word16, size>(with.lower);
  }
  SHARDC_INLINE static bool bitAt(const OptimizerParameters &with, Count i) {
    return at<const Word64>(with.words)[i / splitWord] >> (i % splitWord) & 1;
  }
  template <int size>
  SHARDC_INLINE static Pack<float, size> load(const OptimizerParameters &with,
                                              Count i) {
    auto uppers = *reinterpret_cast<const Pack<Word16, size> *>(
        at<const Word16>(with.master) + i);
    auto lowers = *reinterpret_cast<const Pack<Word16, size> *>(
        at<const Word16>(with.lower) + i);
    Pack<float, size> masters;
#pragma unroll
    for (int lane = 0; lane < size; ++lane) {
      Word16 upper = uppers.values[lane], lower = lowers.values[lane];
      bool isBelow = isHalfway(upper, lower) && bitAt(with, i + lane);
      masters.values[lane] =
          __builtin_bit_cast(float, joinFloat(upper, lower, isBelow));
    }
    return masters;
  }
  template <int size>
  SHARDC_INLINE static void store(const OptimizerParameters &with,
                                  const Pack<float, size> &masters, Count i) {
    Pack<Word16, size> uppers, lowers;
#pragma unroll
    for (int lane = 0; lane < size; ++lane) {
      SplitFloat split =
          splitFloat(__builtin_bit_cast(Word32, masters.values[lane]));
      uppers.values[lane] = split.upper;
      lowers.values[lane] = split.lower;
      Count element = i + lane;
      if (!isHalfway(split.upper, split.lower) ||
          bitAt(with, element) == split.isBelow)
        continue;
      // Other threads change other bits of the word.
      Word64 own = Word64(1) << (element % splitWord);
      atomicAdd(at<long long>(with.words) + element / splitWord,
                static_cast<long long>(split.isBelow ? own : 0 - own));
    }
    *reinterpret_cast<Pack<Word16, size> *>(at<Word16>(with.master) + i) =
        uppers;
    *reinterpret_cast<Pack<Word16, size> *>(at<Word16>(with.lower) + i) =
        lowers;
  }
};

/// Elements [i, i + size).
template <int size, typename Stored, typename Gradient, typename Formula,
          typename C>
SHARDC_INLINE void optimizePack(const OptimizerParameters &with,
                                const Formula &formula, C factor, Count later,
                                Count i) {
  using T = typename Masters<Stored>::Value;
  constexpr int stateCount = Formula::states;
  Pack<T, size> masters = Masters<Stored>::template load<size>(with, i);
  Pack<T, size> states[stateCount];
  auto gradients = *reinterpret_cast<const Pack<Gradient, size> *>(
      at<const Gradient>(with.gradient) + i);
#pragma unroll
  for (int state = 0; state < stateCount; ++state)
    if (with.states[state])
      states[state] = *reinterpret_cast<const Pack<T, size> *>(
          at<const T>(with.states[state]) + i + (state ? later : 0));
#pragma unroll
  for (int lane = 0; lane < size; ++lane) {
    C values[stateCount] = {};
#pragma unroll
    for (int state = 0; state < stateCount; ++state)
      values[state] = widened(states[state].values[lane]);
    C p = formula(widened(masters.values[lane]),
                  C(widen(gradients.values[lane])) * factor, values);
    round(p, masters.values[lane]);
#pragma unroll
    for (int state = 0; state < stateCount; ++state)
      round(values[state], states[state].values[lane]);
  }
#pragma unroll
  for (int state = 0; state < stateCount; ++state)
    if (with.states[state])
      *reinterpret_cast<Pack<T, size> *>(at<T>(with.states[state]) + i +
                                         (state ? later : 0)) = states[state];
  Masters<Stored>::store(with, masters, i);
}

template <template <typename> typename Formula, typename Stored,
          typename Gradient>
SHARDC_INLINE void optimize(const OptimizerParameters &with) {
  using T = typename Masters<Stored>::Value;
  constexpr int size = 4;
  const Step step(with);
  Count first = firstElement(), threads = threadsOfGrid();
  if (step.isSkipped) {
    if (first == 0)
      *at<double>(with.skipped) = 1;
    return;
  }
  bool aligned = Masters<Stored>::template areAligned<size>(with) &&
                 isAligned<Gradient, size>(with.gradient);
  for (Address state : with.states)
    aligned &= isAligned<T, size>(state);
  auto *ranges = at<const OptimizerRange>(with.ranges);
  auto factor = Compute<T>(Formula<Compute<T>>::isScaled ? step.factor : 1.0);
  for (Count number = 0; number < with.rangeCount; ++number) {
    OptimizerRange range = ranges[number];
    Formula<Compute<T>> formula(with, step, range);
    // Packs from the first to the last place that is one, and what is before
    // and behind.
    Count begin = (range.begin + size - 1) / size * size,
          end = range.end / size * size;
    Count later = range.later;
    if (!aligned || later % size != 0 || begin >= end)
      begin = end = range.end;
    for (Count i = begin + first * size; i < end; i += threads * size)
      optimizePack<size, Stored, Gradient>(with, formula, factor, later, i);
    for (Count i = range.begin + first; i < begin; i += threads)
      optimizePack<1, Stored, Gradient>(with, formula, factor, later, i);
    for (Count i = end + first; i < range.end; i += threads)
      optimizePack<1, Stored, Gradient>(with, formula, factor, later, i);
  }
}

#define SHARDC_OPTIMIZER(kind, Kind, master, T, gradient, G)                   \
  SHARDC_KERNEL void optimizer_##kind##_##master##_##gradient(                 \
      OptimizerParameters with) {                                              \
    optimize<Kind, T, G>(with);                                                \
  }
#define SHARDC_KIND(kind, Kind)                                                \
  SHARDC_OPTIMIZER(kind, Kind, f64, double, f64, double)                       \
  SHARDC_OPTIMIZER(kind, Kind, f32, float, f32, float)                         \
  SHARDC_OPTIMIZER(kind, Kind, f32, float, bf16, Bf16)                         \
  SHARDC_OPTIMIZER(kind, Kind, f32, float, f16, F16)                           \
  SHARDC_OPTIMIZER(kind, Kind, split, Split, f32, float)                       \
  SHARDC_OPTIMIZER(kind, Kind, split, Split, bf16, Bf16)                       \
  SHARDC_OPTIMIZER(kind, Kind, bf16, Bf16, f32, float)                         \
  SHARDC_OPTIMIZER(kind, Kind, bf16, Bf16, bf16, Bf16)                         \
  SHARDC_OPTIMIZER(kind, Kind, f16, F16, f32, float)                           \
  SHARDC_OPTIMIZER(kind, Kind, f16, F16, f16, F16)
SHARDC_KIND(adam, Adam)
SHARDC_KIND(sgd, Sgd)
SHARDC_KIND(lion, Lion)
SHARDC_KIND(adagrad, Adagrad)
SHARDC_KIND(follow, Follow)

/// torch.lerp: it reaches either end exactly.
template <typename C> SHARDC_DEVICE C between(C from, C to, double weight) {
  return weight < 0.5 ? from + (to - from) * C(weight)
                      : to - (to - from) * C(1 - weight);
}

template <typename T, typename Gradient>
SHARDC_INLINE void followMomentum(const MomentumParameters &with) {
  using C = Compute<T>; // and the direction's
  const Step step(with);
  const C factor = C(step.factor);
  if (step.isSkipped) {
    for (Count i = firstElement(); i < with.elements; i += threadsOfGrid())
      at<C>(with.direction)[i] = 0;
    return;
  }
  auto *ranges = at<const OptimizerRange>(with.ranges);
  for (Count number = 0; number < with.rangeCount; ++number)
    for (Count i = ranges[number].begin + firstElement();
         i < ranges[number].end; i += threadsOfGrid()) {
      C &direction = at<C>(with.direction)[i];
      T &state = at<T>(with.state)[i];
      C g = C(widen(at<const Gradient>(with.gradient)[i])) * factor;
      C b = between<C>(widened(state), g, 1 - with.momentum);
      direction = with.nesterov ? between<C>(g, b, with.momentum) : b;
      round(b, state);
    }
}

#define SHARDC_MOMENTUM(state, T, gradient, G)                                 \
  SHARDC_KERNEL void momentum_##state##_##gradient(MomentumParameters with) {  \
    followMomentum<T, G>(with);                                                \
  }
SHARDC_MOMENTUM(f64, double, f64, double)
SHARDC_MOMENTUM(f32, float, f32, float)
SHARDC_MOMENTUM(f32, float, bf16, Bf16)
SHARDC_MOMENTUM(f32, float, f16, F16)
SHARDC_MOMENTUM(bf16, Bf16, f32, float)
SHARDC_MOMENTUM(bf16, Bf16, bf16, Bf16)
SHARDC_MOMENTUM(f16, F16, f32, float)
SHARDC_MOMENTUM(f16, F16, f16, F16)

} // namespace shardc::runtime::cuda
