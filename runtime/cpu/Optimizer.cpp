// Norms and optimizer steps: the numbers in double as torch computes them, the
// elements in the loops of Simd.h.
#include "runtime/cpu/Optimizer.h"
#include "runtime/ThreadPool.h"
#include "runtime/cpu/simd/Simd.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime::cpu {

/// Elements of a part of a norm: fixed, so that the order of the sum is.
static constexpr int64_t partElements = 64 << 10;
/// Elements below which a fork costs more than it brings.
static constexpr int64_t grainElements = 16 << 10;

SquaredNorm::SquaredNorm(std::vector<Tensor> gradientTensors, int64_t slices)
    : gradients(std::move(gradientTensors)) {
  for (int64_t slice = 0; slice < slices; ++slice)
    for (int64_t i = 0; i < int64_t(gradients.size()); ++i) {
      int64_t size = gradients[i].elements() / slices;
      for (int64_t begin = 0; begin < size; begin += partElements)
        parts.push_back({slice, i, slice * size + begin,
                         slice * size + std::min(size, begin + partElements)});
    }
  sums.resize(parts.size());
}

double SquaredNorm::compute(ThreadPool &pool) {
  pool.forRanges(parts.size(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const Part &part = parts[i];
      const Tensor &gradient = gradients[part.gradient];
      int64_t count = part.end - part.begin;
      sums[i] = gradient.dtype == plan::FLOAT32
                    ? simd<float>().squaredNorm(
                          gradient.as<float>() + part.begin, count)
                    : simd<double>().squaredNorm(
                          gradient.as<double>() + part.begin, count);
    }
  });
  double total = 0, ofSlice = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    ofSlice += sums[i];
    if (i + 1 == parts.size() || parts[i + 1].slice != parts[i].slice) {
      total += ofSlice;
      ofSlice = 0;
    }
  }
  return total;
}

bool OptimizerStep::parse(const std::string &name, Kind &kind, int &states) {
  if (name == "adamw" || name == "adam") {
    kind = name == "adam" ? Kind::Adam : Kind::AdamW;
    states = 2;
    return true;
  }
  kind = Kind::Sgd;
  states = 1;
  return name == "sgd";
}

template <typename T>
static void runOn(const OptimizerStep &step, const StepNumbers &numbers,
                  double factor, ThreadPool &pool) {
  bool adamW = step.kind == OptimizerStep::Kind::AdamW;
  AdamNumbers adam{};
  adam.gradientFactor = factor;
  adam.weightDecay = adamW ? 0 : numbers.weightDecay;
  adam.decay = adamW ? 1 - numbers.learningRate * numbers.weightDecay : 1;
  adam.beta1 = numbers.beta1;
  adam.beta2 = numbers.beta2;
  adam.stepSize =
      numbers.learningRate / (1 - std::pow(numbers.beta1, numbers.step));
  adam.secondCorrection = std::sqrt(1 - std::pow(numbers.beta2, numbers.step));
  adam.epsilon = numbers.epsilon;
  SgdNumbers sgd{factor, numbers.weightDecay, numbers.momentum,
                 numbers.learningRate, numbers.nesterov};
  T *parameter = step.parameter.as<T>();
  const T *gradient = step.gradient.as<T>();
  for (const Range &range : step.ranges)
    pool.forRanges(
        range.end - range.begin, grainElements,
        [&](int64_t begin, int64_t end, int) {
          int64_t at = range.begin + begin, count = end - begin;
          if (step.kind == OptimizerStep::Kind::Sgd)
            simd<T>().sgd(parameter + at, step.states[0].as<T>() + at,
                          gradient + at, sgd, count);
          else
            simd<T>().adam(parameter + at, step.states[0].as<T>() + at,
                           step.states[1].as<T>() + at, gradient + at, adam,
                           count);
        });
}

void OptimizerStep::run(const StepNumbers &numbers, double squaredNorm,
                        ThreadPool &pool) const {
  // torch.nn.utils.clip_grad_norm_: the coefficient is clamped to 1; a norm
  // that is not a number stays visible.
  double factor = 1;
  if (numbers.clip > 0)
    factor = numbers.clip / (std::sqrt(squaredNorm) + 1e-6);
  if (factor > 1)
    factor = 1;
  if (parameter.dtype == plan::FLOAT32)
    runOn<float>(*this, numbers, factor, pool);
  else
    runOn<double>(*this, numbers, factor, pool);
}

} // namespace shardc::runtime::cpu
