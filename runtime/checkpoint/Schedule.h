// When a run is saved: --checkpoint-every.
#ifndef SHARDC_RUNTIME_CHECKPOINT_SCHEDULE_H
#define SHARDC_RUNTIME_CHECKPOINT_SCHEDULE_H

#include "runtime/data/SampleOrder.h"

#include <cstdint>

namespace shardc::runtime {

/// One of them is given, or none: then a run is saved in its end alone.
struct CheckpointEvery {
  int64_t steps = 0, epochs = 0;
  double seconds = 0;

  bool isGiven() const { return steps || epochs || seconds > 0; }
  /// Whether steps or epochs say that a run is to be saved that stands at
  /// `now`, and stood at `before` when it last was.
  bool isDue(int64_t step, int64_t stepBefore, const Cursor &now,
             const Cursor &before) const {
    return (steps && step / steps > stepBefore / steps) ||
           (epochs && now.epoch / epochs > before.epoch / epochs);
  }
};

} // namespace shardc::runtime

#endif
