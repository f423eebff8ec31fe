// A learning rate that falls where evaluations get no better.
#ifndef SHARDC_RUNTIME_TRAIN_PLATEAU_H
#define SHARDC_RUNTIME_TRAIN_PLATEAU_H

#include "runtime/checkpoint/Manifest.h"

namespace shardc::runtime {

/// torch.optim.lr_scheduler.ReduceLROnPlateau with threshold_mode "rel", of one
/// learning rate: once more than `patience` evaluations in a row were not better
/// than the best so far by the part `threshold`, it is multiplied by `factor`.
class Plateau {
public:
  struct Settings {
    double factor = 0.1;
    int64_t patience = 10;
    double threshold = 1e-4;
    int64_t cooldown = 0; ///< evaluations behind a fall that do not count
  };
  /// A fall by less is none.
  static constexpr double smallestFall = 1e-8;

  /// `isLess`: whether less is better.
  Plateau(const Settings &settings, bool isLess, const PlateauState &state)
      : settings(settings), isLess(isLess), current(state) {}

  /// To be called with each evaluation; whether the rate falls, of `peak`, and no
  /// further than to `minimum`.
  bool take(double value, double peak, double minimum);

  /// What is left of the peak is `state().reduced` of it.
  const PlateauState &state() const { return current; }

private:
  bool isBetter(double value) const;

  Settings settings;
  bool isLess;
  PlateauState current;
};

} // namespace shardc::runtime

#endif
