// The factor that keeps 16-bit gradients inside their type's range: fixed, or
// found while training. What it is multiplied into is the trainer's business.
#ifndef SHARDC_RUNTIME_TRAIN_LOSSSCALER_H
#define SHARDC_RUNTIME_TRAIN_LOSSSCALER_H

#include <cstdint>

namespace shardc::runtime {

/// What the flags --loss-scale* say.
struct LossScaling {
  /// None: the loss is not scaled, and gradients that are not finite end the
  /// run. Fixed: scaled by `initial`; such a step is skipped. Dynamic: skipped
  /// too, and the scale follows.
  enum class Kind { None, Fixed, Dynamic };

  Kind kind = Kind::None;
  float initial = 65536;
  float minimum = 1;
  int64_t window = 2000;  // finite steps in a row after which it doubles
  int64_t hysteresis = 1; // steps that are not finite before it is halved
};

/// torch.amp.GradScaler with its default factors (growth 2, backoff 0.5), as
/// of its update _amp_update_scale_, in float32:
///
///   a step that is not finite: scale = max(scale / 2, minimum); count = 0
///   a finite one: count + 1; at `window`: scale = 2 scale where that is
///   finite; count = 0
///
/// torch has no minimum. With hysteresis h > 1 (Megatron-LM's
/// DynamicGradScaler) the scale stays as it is for the first h - 1 steps that
/// are not finite since it last grew, in a row or not.
class LossScaler {
public:
  explicit LossScaler(const LossScaling &scaling);

  /// What the loss of the next step is multiplied by.
  float scale() const { return current; }
  /// Whether a step with gradients that are not finite is skipped.
  bool skips() const { return scaling.kind != LossScaling::Kind::None; }
  /// Takes note of a step: whether its gradients were all finite.
  void update(bool finite);

  /// Steps that were skipped, and those of them in a row up to now that had a
  /// scale that could not become smaller.
  int64_t skipped() const { return skippedSteps; }
  int64_t skippedAtMinimum() const { return atMinimum; }

  /// All that it remembers of the steps behind it: a checkpoint keeps it.
  struct State {
    float scale = 1;
    int64_t finiteSteps = 0, hysteresisLeft = 1, skipped = 0;
    int64_t skippedAtMinimum = 0;
  };
  State state() const {
    return {current, finiteSteps, hysteresisLeft, skippedSteps, atMinimum};
  }
  /// Goes on from there. A scale that is fixed or none stays as it is.
  void goOnFrom(const State &state);

private:
  LossScaling scaling;
  float current;
  int64_t finiteSteps = 0;
  int64_t hysteresisLeft;
  int64_t skippedSteps = 0, atMinimum = 0;
};

} // namespace shardc::runtime

#endif
