// A run's numbers, with all defaults resolved: what the flags, the plan and the
// data together say.
#ifndef SHARDC_RUNTIME_RUNSETTINGS_H
#define SHARDC_RUNTIME_RUNSETTINGS_H

#include "runtime/Executor.h"
#include "runtime/Schedule.h"
#include "runtime/cli/Options.h"
#include "runtime/plan.pb.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

struct RunSettings {
  int64_t batch = 0;       // samples of one rank
  int64_t globalBatch = 0; // of all ranks
  int64_t steps = 0;
  Schedule schedule;
  StepNumbers numbers; // but for step and learning rate
  int workers = 1;     // threads of each rank
  int64_t unitsPerSample = 1;
  std::string unit; // what throughput counts: tokens, or samples where there is
                    // no sequence

  /// Throws an Error where a flag cannot be honoured or the samples do not fill
  /// a batch. `samples`: of --data.
  static RunSettings resolve(const Options &options, const plan::Plan &plan,
                             int64_t samples);
};

} // namespace shardc::runtime

#endif
