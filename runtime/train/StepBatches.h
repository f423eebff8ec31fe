// A rank's batches of a step, from the thread that reads them to the device.
#ifndef SHARDC_RUNTIME_TRAIN_STEPBATCHES_H
#define SHARDC_RUNTIME_TRAIN_STEPBATCHES_H

#include "runtime/train/BatchLoader.h"
#include "runtime/train/ReadAhead.h"
#include "runtime/train/SampleLog.h"

#include <cstdint>
#include <vector>

namespace shardc::runtime {

class StepBatches {
public:
  StepBatches(const plan::Plan &plan, const RunSettings &settings,
              ReadAhead &ahead, Rank &rank)
      : plan(plan), note(rank.communicator().note()),
        reader(ahead, rank.rank()), loader(plan, rank),
        labelWeights(settings.microBatches) {}

  /// Waits for the step's batches, where their labels count, and returns what
  /// the valid ones weigh.
  double weighLabels();
  double labelWeight(int64_t microBatch) const {
    return labelWeights[microBatch];
  }

  /// Loads a batch with what BatchLoader calls the loss scale. `log`, where it is
  /// not null, gets its samples.
  void load(int64_t microBatch, double lossScale, SampleLog *log);
  /// Loads the next step's first batch while the device is at this step: the one
  /// thing of a step that depends on none before. A batch that cannot be read is
  /// the next step's error.
  void loadAhead();
  /// The inputs on the device are somebody else's.
  void forget() { isLoaded = false; }

  /// Of all steps: waits for batches, and their copies.
  double seconds() const { return allSeconds; }
  BatchLoader &onDevice() { return loader; }

private:
  const plan::Plan &plan;
  RankNote &note;
  ReadAhead::Reader reader;
  BatchLoader loader;
  std::vector<double> labelWeights; // by micro-batch
  double allSeconds = 0;
  bool isLoaded = false; // the first batch
};

} // namespace shardc::runtime

#endif
