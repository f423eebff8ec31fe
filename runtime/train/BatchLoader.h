// A rank's batches, from the samples to the device.
#ifndef SHARDC_RUNTIME_TRAIN_BATCHLOADER_H
#define SHARDC_RUNTIME_TRAIN_BATCHLOADER_H

#include "runtime/data/Dataset.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/engine/Executor.h"

#include <span>
#include <vector>

namespace shardc::runtime {

/// The values of all inputs in a micro-batch of a rank, in host memory.
struct Batch {
  std::vector<int64_t> samples;
  std::vector<std::byte> values; // one input behind the other
  double labelWeight = 0;        // where the loss counts labels
};

/// The bytes of a Batch's values.
int64_t batchBytes(const plan::Plan &plan);

/// Reads `batch.samples` and weighs their labels. Throws as Dataset::load does.
void readBatch(const plan::Plan &plan, const Dataset &data, Batch &batch);

class BatchLoader {
public:
  BatchLoader(const plan::Plan &plan, Rank &rank) : plan(plan), rank(rank) {}

  /// Counts the labels among these samples that the loss counts.
  CountedLabels countLabels(const Dataset &data,
                            std::span<const int64_t> samples);
  /// Fills all inputs of the program. `lossScale` is that of the role
  /// `loss_scale`: the loss normalization times the loss scale.
  void load(const Batch &batch, double lossScale);
  /// The same in two: the inputs, behind all that was begun on the device, and
  /// the input of the role `loss_scale`, which may be known later.
  void loadInputs(const Batch &batch);
  void loadScale(double lossScale);
  /// What ops draw from, in a program that has such (Draws.h).
  void loadDraws(std::span<const int32_t> words);
  /// The weights of running statistics, in a program that has such
  /// (RunningWeights.h).
  void loadRunning(std::span<const double> weights);
  /// Reads the samples first.
  void load(const Dataset &data, std::span<const int64_t> samples,
            double lossScale);

private:
  const plan::Plan &plan;
  Rank &rank;
  Batch staged;
};

} // namespace shardc::runtime

#endif
