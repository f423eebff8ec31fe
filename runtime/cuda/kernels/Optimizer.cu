// Optimizer steps over ranges, with the operations of runtime/simd/Kernels.cpp
// in their order, so that bits are the processor's.
#include "runtime/cuda/kernels/Device.h"

namespace shardc::runtime::cuda {

SHARDC_DEVICE float squareRoot(float value) { return __builtin_sqrtf(value); }
SHARDC_DEVICE double squareRoot(double value) { return __builtin_sqrt(value); }

/// A formula takes element i: parameter p and gradient g, both read, and
/// returns the new parameter.
template <typename T> struct Adam {
  T l2, decay, weight, otherWeight, beta2, squareWeight, step, correction,
      epsilon;
  bool hasSmallWeight;
  T *average, *averageOfSquares, *largest;

  SHARDC_DEVICE Adam(const OptimizerParameters &with,
                     const StepScalars &scalars, double rate)
      : l2(T(with.isDecoupled ? 0 : with.weightDecay)),
        decay(T(with.isDecoupled ? 1 - rate * with.weightDecay : 1)),
        weight(T(1 - with.beta1)), otherWeight(T(1 - (1 - with.beta1))),
        beta2(T(with.beta2)), squareWeight(T(1 - with.beta2)),
        step(T(-(rate / scalars.firstCorrection))),
        correction(T(scalars.secondCorrection)), epsilon(T(with.epsilon)),
        hasSmallWeight(1 - with.beta1 < 0.5),
        average(reinterpret_cast<T *>(with.states[0])),
        averageOfSquares(reinterpret_cast<T *>(with.states[1])),
        largest(reinterpret_cast<T *>(with.states[2])) {}

  SHARDC_DEVICE T operator()(T p, T g, Count i) const {
    g += p * l2;
    p *= decay;
    T m = average[i];
    m = hasSmallWeight ? m + weight * (g - m) : g - (g - m) * otherWeight;
    T v = averageOfSquares[i] * beta2;
    v += squareWeight * g * g;
    average[i] = m;
    averageOfSquares[i] = v;
    T divisor = v;
    if (largest) {
      T most = largest[i];
      divisor = most >= v ? most : v;
      divisor = most == most ? divisor : most;
      largest[i] = divisor;
    }
    return p + step * m / (squareRoot(divisor) / correction + epsilon);
  }
};

template <typename T> struct Sgd {
  T l2, momentum, rate;
  bool hasMomentum, nesterov;
  T *buffer;

  SHARDC_DEVICE Sgd(const OptimizerParameters &with, const StepScalars &,
                    double rate)
      : l2(T(with.weightDecay)), momentum(T(with.momentum)), rate(T(-rate)),
        hasMomentum(with.momentum != 0), nesterov(with.nesterov),
        buffer(reinterpret_cast<T *>(with.states[0])) {}

  SHARDC_DEVICE T operator()(T p, T g, Count i) const {
    g += p * l2;
    if (hasMomentum) {
      T b = buffer[i] * momentum + g;
      buffer[i] = b;
      g = nesterov ? g + momentum * b : b;
    }
    return p + rate * g;
  }
};

template <typename T> struct Lion {
  T decay, beta1, gradientWeight1, beta2, gradientWeight2, rate;
  T *average;

  SHARDC_DEVICE Lion(const OptimizerParameters &with, const StepScalars &,
                     double rate)
      : decay(T(1 - rate * with.weightDecay)), beta1(T(with.beta1)),
        gradientWeight1(T(1 - with.beta1)), beta2(T(with.beta2)),
        gradientWeight2(T(1 - with.beta2)), rate(T(rate)),
        average(reinterpret_cast<T *>(with.states[0])) {}

  SHARDC_DEVICE T operator()(T p, T g, Count i) const {
    p *= decay;
    T m = average[i];
    T update = m * beta1 + g * gradientWeight1;
    average[i] = m * beta2 + g * gradientWeight2;
    return update > 0 ? p - rate : update < 0 ? p + rate : p;
  }
};

template <typename T> struct Adagrad {
  T l2, rate, epsilon;
  T *sumOfSquares;

  SHARDC_DEVICE Adagrad(const OptimizerParameters &with, const StepScalars &,
                        double rate)
      : l2(T(with.weightDecay)), rate(T(-rate)), epsilon(T(with.epsilon)),
        sumOfSquares(reinterpret_cast<T *>(with.states[0])) {}

  SHARDC_DEVICE T operator()(T p, T g, Count i) const {
    g += p * l2;
    T sum = sumOfSquares[i] + g * g;
    sumOfSquares[i] = sum;
    return p + rate * g / (squareRoot(sum) + epsilon);
  }
};

template <typename Formula, typename T, typename Gradient, typename Copy>
SHARDC_DEVICE void optimize(const OptimizerParameters &with) {
  const StepScalars &scalars =
      *reinterpret_cast<const StepScalars *>(with.scalars);
  if (scalars.skip)
    return;
  Formula formula(with, scalars, scalars.learningRate * with.learningRateScale);
  T factor = T(scalars.factor);
  auto *master = reinterpret_cast<T *>(with.master);
  auto *gradient = reinterpret_cast<const Gradient *>(with.gradient);
  auto *copy = reinterpret_cast<Copy *>(with.copy);
  Count step = threadsOfGrid();
  for (Count i = with.begin + firstElement(); i < with.end; i += step) {
    T p = formula(master[i], T(widen(gradient[i])) * factor, i);
    master[i] = p;
    if (copy)
      round(widen(p), copy[i]);
  }
}

#define SHARDC_OPTIMIZER(kind, Kind, master, T, gradient, G, copy, C)          \
  SHARDC_KERNEL void optimizer_##kind##_##master##_##gradient##_##copy(        \
      OptimizerParameters with) {                                              \
    optimize<Kind<T>, T, G, C>(with);                                          \
  }
#define SHARDC_COPIES(kind, Kind, gradient, G)                                 \
  SHARDC_OPTIMIZER(kind, Kind, f32, float, gradient, G, f32, float)            \
  SHARDC_OPTIMIZER(kind, Kind, f32, float, gradient, G, bf16, Bf16)            \
  SHARDC_OPTIMIZER(kind, Kind, f32, float, gradient, G, f16, F16)
#define SHARDC_KIND(kind, Kind)                                                \
  SHARDC_COPIES(kind, Kind, f32, float)                                        \
  SHARDC_COPIES(kind, Kind, bf16, Bf16)                                        \
  SHARDC_COPIES(kind, Kind, f16, F16)                                          \
  SHARDC_OPTIMIZER(kind, Kind, f64, double, f64, double, f64, double)
SHARDC_KIND(adam, Adam)
SHARDC_KIND(sgd, Sgd)
SHARDC_KIND(lion, Lion)
SHARDC_KIND(adagrad, Adagrad)

} // namespace shardc::runtime::cuda
