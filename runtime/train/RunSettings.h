// A run's numbers, with all defaults resolved: what the flags, the plan and the
// data together say.
#ifndef SHARDC_RUNTIME_TRAIN_RUNSETTINGS_H
#define SHARDC_RUNTIME_TRAIN_RUNSETTINGS_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/data/Dataset.h"
#include "runtime/engine/Executor.h"
#include "runtime/launch/World.h"
#include "runtime/plan.pb.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/Options.h"
#include "runtime/train/ParameterGroups.h"
#include "runtime/train/Schedule.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// What the banner says besides the numbers.
struct BannerFacts {
  DeviceTraits device;
  Reduce reduce = Reduce::Ordered;
  /// What the device takes besides the plan's pools, for each thread.
  int64_t bytesPerThread = 0;
  std::string tune;       // the file of what products run; empty: there is none
  std::string processes;  // of the world; empty: one
  std::string goesOnFrom; // the checkpoint; empty: none
  bool beginsData = false; // whether its samples are not what is gone on with
};

struct RunSettings {
  int64_t batch = 0;        // samples of one rank in one micro-batch
  int64_t microBatches = 1; // of a step
  int64_t globalBatch = 0;  // samples of a step: of all ranks and micro-batches
  int64_t steps = 0;
  int64_t samples = 0; // of an epoch
  LossNorm lossNorm = LossNorm::Global;
  Schedule schedule;
  StepNumbers numbers; // but for what differs from step to step
  double gradientDivisor = 1;
  LossScaling lossScaling;
  std::vector<double> dropoutRates; // by site of the plan
  uint64_t seed = 0;                // of what is drawn
  ParameterGroups groups;
  int64_t ranksSharing = 1; // ranks of a process that have one memory
  int workers = 1;          // threads of each rank of this process
  /// What a rank holds for copies, where a checkpoint is written beside
  /// steps; 0: there is none, or the run waits for it.
  int64_t checkpointCopyBytes = 0;
  int64_t unitsPerSample = 1;
  std::string unit; // what throughput counts: tokens, or samples where there is
                    // no sequence
  std::string initialValues; // where they come from

  /// Where the run begins: at the first step, or where a checkpoint was saved.
  Progress start;
  BannerFacts banner;

  /// What of the schedule does not come to pass in the steps of this run, or is
  /// not what the run that was saved had; warnings.
  std::vector<std::string> scheduleTexts() const;

  /// Throws an Error where a flag cannot be honoured, the samples do not fill
  /// a batch, or the run cannot go on from `resumed` (null: it begins anew).
  /// `samples`: of --data, none where a run without steps has no data.
  static RunSettings resolve(const Options &options, const plan::Plan &plan,
                             const DeviceTraits &device,
                             std::optional<int64_t> samples, const World &world,
                             const Manifest *resumed = nullptr);
};

/// Threads of each rank of this process: as --threads says, or its share of the
/// processors; no more than the plan is for.
int threadsPerRank(const Options &options, const DeviceTraits &device,
                   const World &world);

/// Whether samples are read to be trained on; a run without steps needs none.
inline bool readsData(const Options &options) {
  return !options.data.empty() || options.steps != 0;
}

/// Whether initial values are drawn: as --init says, as --weights does by being
/// there, or else as was compiled.
bool drawsInitialValues(const Options &options, const plan::Plan &plan);

/// Whether the loss is scaled dynamically: as --loss-scale says, and without it
/// for a plan that computes in float16.
bool isLossScaleDynamic(const LossScaleOptions &options,
                        const plan::Plan &plan);

} // namespace shardc::runtime

#endif
