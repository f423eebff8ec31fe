// The learning rate of a step.
#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardc::runtime {

double Schedule::learningRate(int64_t step) const {
  if (step < warmupSteps)
    return peak * (warmupStartFactor + (1 - warmupStartFactor) *
                                           static_cast<double>(step) /
                                           static_cast<double>(warmupSteps));
  int64_t decaySteps = totalSteps - warmupSteps;
  double progress = 1;
  if (decaySteps > 0)
    progress = std::min(1.0, static_cast<double>(step - warmupSteps) /
                                 static_cast<double>(decaySteps));
  switch (kind) {
  case Kind::Constant:
    return peak;
  case Kind::Linear:
    return minimum + (peak - minimum) * (1 - progress);
  case Kind::Cosine:
    return minimum +
           (peak - minimum) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  }
  return peak;
}

} // namespace shardc::runtime
