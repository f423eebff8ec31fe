// The learning rate of a step.
#ifndef SHARDC_RUNTIME_TRAIN_SCHEDULE_H
#define SHARDC_RUNTIME_TRAIN_SCHEDULE_H

#include <cstdint>

namespace shardc::runtime {

/// Linear warm-up to `peak`, then constant, or down to `minimum` along a line
/// or half a cosine.
struct Schedule {
  enum class Kind { Constant, Linear, Cosine };

  Kind kind = Kind::Constant;
  double peak = 0;              // --lr
  double minimum = 0;           // --min-lr
  int64_t warmupSteps = 0;      // w
  double warmupStartFactor = 0; // s
  int64_t totalSteps = 0;       // n

  /// Step k counts from 0. For k < w: peak (s + (1 - s) k / w). Then, with t =
  /// (k - w) / (n - w), at most 1: peak; minimum + (peak - minimum)(1 - t);
  /// minimum + (peak - minimum)(1 + cos(pi t)) / 2.
  double learningRate(int64_t step) const;
};

} // namespace shardc::runtime

#endif
