// The state machine of ReduceLROnPlateau.step.
#include "runtime/train/Plateau.h"

#include <algorithm>

namespace shardc::runtime {

bool Plateau::isBetter(double value) const {
  if (!current.best)
    return true;
  return isLess ? value < *current.best * (1 - settings.threshold)
                : value > *current.best * (1 + settings.threshold);
}

bool Plateau::take(double value, double peak, double minimum) {
  if (isBetter(value)) {
    current.best = value;
    current.sinceBest = 0;
  } else {
    ++current.sinceBest;
  }
  if (current.cooldown > 0) {
    --current.cooldown;
    current.sinceBest = 0;
  }
  if (current.sinceBest <= settings.patience)
    return false;
  current.cooldown = settings.cooldown;
  current.sinceBest = 0;
  const double before = std::max(peak * current.reduced, minimum);
  const double after =
      std::max(peak * (current.reduced * settings.factor), minimum);
  if (before - after <= smallestFall)
    return false;
  current.reduced *= settings.factor;
  return true;
}

} // namespace shardc::runtime
