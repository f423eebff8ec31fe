// Inputs go to the device in the order of its work; what that takes of the host
// is a copy to memory that the device reads.
#include "runtime/train/StepBatches.h"

#include "runtime/data/LossNormalization.h"
#include "runtime/metrics/Process.h"

#include <utility>

namespace shardc::runtime {
namespace {

/// Adds the seconds of its life.
class Clocked {
public:
  explicit Clocked(double &seconds)
      : seconds(seconds), begin(monotonicSeconds()) {}
  ~Clocked() { seconds += monotonicSeconds() - begin; }

private:
  double &seconds;
  double begin;
};

} // namespace

double StepBatches::weighLabels() {
  labelWeights.assign(labelWeights.size(), 0);
  if (!countsLabels(plan.loss()))
    return 0;
  Clocked clocked(allSeconds);
  InPhase reading(note, RankPhase::Samples);
  double all = 0;
  for (int64_t i = 0; i < std::ssize(labelWeights); ++i)
    all += labelWeights[i] = reader.labelWeight(i);
  return all;
}

void StepBatches::load(int64_t microBatch, double lossScale, SampleLog *log) {
  Clocked clocked(allSeconds);
  InPhase reading(note, RankPhase::Samples);
  const Batch &batch = reader.next(microBatch);
  if (microBatch > 0 || !std::exchange(isLoaded, false))
    loader.loadInputs(batch);
  loader.loadScale(lossScale);
  if (log)
    log->add(microBatch, batch.samples);
  reader.done(microBatch);
}

void StepBatches::loadAhead() {
  Clocked clocked(allSeconds);
  InPhase reading(note, RankPhase::Samples);
  if (const Batch *batch = reader.tryNext(0)) {
    loader.loadInputs(*batch);
    isLoaded = true;
  }
}

} // namespace shardc::runtime
