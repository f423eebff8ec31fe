// The factor that keeps 16-bit gradients inside their type's range.
#include "runtime/train/LossScaler.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

LossScaler::LossScaler(const LossScaling &scaling)
    : scaling(scaling),
      current(scaling.kind == LossScaling::Kind::None ? 1 : scaling.initial),
      hysteresisLeft(scaling.hysteresis) {}

void LossScaler::goOnFrom(const State &state) {
  skippedSteps = state.skipped;
  if (scaling.kind != LossScaling::Kind::Dynamic)
    return;
  current = std::max(state.scale, scaling.minimum);
  finiteSteps = state.finiteSteps;
  hysteresisLeft = state.hysteresisLeft;
  atMinimum = state.skippedAtMinimum;
}

void LossScaler::update(bool finite) {
  bool dynamic = scaling.kind == LossScaling::Kind::Dynamic;
  if (!finite) {
    bool lowest = !dynamic || current <= scaling.minimum;
    atMinimum = lowest ? atMinimum + 1 : 0;
    ++skippedSteps;
    finiteSteps = 0;
    if (dynamic && --hysteresisLeft <= 0)
      current = std::max(current * 0.5f, scaling.minimum);
    return;
  }
  atMinimum = 0;
  if (!dynamic || ++finiteSteps < scaling.window)
    return;
  finiteSteps = 0;
  hysteresisLeft = scaling.hysteresis;
  if (std::isfinite(current * 2))
    current *= 2;
}

} // namespace shardc::runtime
