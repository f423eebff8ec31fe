// The learning rate of a step.
#ifndef SHARDC_RUNTIME_TRAIN_SCHEDULE_H
#define SHARDC_RUNTIME_TRAIN_SCHEDULE_H

#include <cstdint>

namespace shardc::runtime {

/// A warm-up to `peak`, and what comes behind it. Names and formulas are those
/// of transformers.get_scheduler; docs/running.md has them.
struct Schedule {
  enum class Kind {
    Constant,
    Linear,
    Cosine,
    Polynomial,
    CosineWithRestarts,
    InverseSqrt,
    WarmupStableDecay,
    ReduceOnPlateau
  };
  /// How a warm-up rises, or a decay falls: f(t), t from 0 to 1.
  enum class Shape { Linear, Cosine, OneMinusSqrt };

  Kind kind = Kind::Constant;
  double peak = 0;              // --lr
  double minimum = 0;           // --min-lr
  int64_t warmupSteps = 0;      // w
  double warmupStartFactor = 0; // s
  int64_t totalSteps = 0;       // n
  double power = 1;             // of Polynomial
  double cycles = 0.5;          // waves of a cosine; of restarts: their number
  int64_t timescale = 1;        // of InverseSqrt
  // Of WarmupStableDecay:
  int64_t stableSteps = 0;
  int64_t decaySteps = 0;
  Shape decayShape = Shape::Cosine;
  Shape warmupShape = Shape::Linear; // of all kinds

  /// Steps count from 0. `reduced`: of ReduceOnPlateau, the part of the peak that
  /// evaluations have left (Plateau.h).
  double learningRate(int64_t step, double reduced = 1) const;

private:
  double warmup(int64_t step) const;
  /// Of `minimum` to `peak`, 0 to 1.
  double between(double factor) const {
    return minimum + (peak - minimum) * factor;
  }
};

} // namespace shardc::runtime

#endif
