// The learning rate of a step.
#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardc::runtime {

/// t of T, as a part that is at most 1; of nothing, all is over.
static double part(int64_t t, int64_t of) {
  return of > 0 ? std::min(1.0, static_cast<double>(t) / of) : 1;
}

static double wave(double cycles, double progress) {
  return 0.5 * (1 + std::cos(std::numbers::pi * cycles * 2 * progress));
}

double Schedule::warmup(int64_t step) const {
  double progress = part(step, warmupSteps), risen = progress;
  if (warmupShape == Shape::Cosine)
    risen = 0.5 * (1 - std::cos(std::numbers::pi * progress));
  if (warmupShape == Shape::OneMinusSqrt)
    risen = 1 - std::sqrt(1 - progress);
  return peak * (warmupStartFactor + (1 - warmupStartFactor) * risen);
}

double Schedule::learningRate(int64_t step, double reduced) const {
  if (step < warmupSteps)
    return kind == Kind::ReduceOnPlateau ? warmup(step) * reduced
                                         : warmup(step);
  int64_t behind = step - warmupSteps;
  double progress = part(behind, totalSteps - warmupSteps);
  switch (kind) {
  case Kind::Constant:
    return peak;
  case Kind::Linear:
    return between(1 - progress);
  case Kind::Cosine:
    return between(wave(cycles, progress));
  case Kind::Polynomial:
    return between(std::pow(1 - progress, power));
  case Kind::CosineWithRestarts:
    return progress >= 1
               ? minimum
               : between(wave(0.5, std::fmod(cycles * progress, 1.0)));
  case Kind::InverseSqrt:
    return peak / std::sqrt(static_cast<double>(behind + timescale) /
                            static_cast<double>(timescale));
  case Kind::WarmupStableDecay:
    if (behind < stableSteps)
      return peak;
    if (behind >= stableSteps + decaySteps)
      return minimum;
    progress = part(behind - stableSteps, decaySteps);
    if (decayShape == Shape::Linear)
      return between(1 - progress);
    if (decayShape == Shape::OneMinusSqrt)
      return between(1 - std::sqrt(progress));
    return between(wave(cycles, progress));
  case Kind::ReduceOnPlateau:
    return std::max(peak * reduced, minimum);
  }
  return peak;
}

} // namespace shardc::runtime
