// A rank's batches, from the samples to the device.
#ifndef SHARDC_RUNTIME_TRAIN_BATCHLOADER_H
#define SHARDC_RUNTIME_TRAIN_BATCHLOADER_H

#include "runtime/data/Dataset.h"
#include "runtime/engine/Executor.h"

#include <span>
#include <vector>

namespace shardc::runtime {

class BatchLoader {
public:
  BatchLoader(const plan::Plan &plan, Rank &rank);

  /// Counts the labels among these samples that the loss counts.
  int64_t countLabels(const Dataset &data, std::span<const int64_t> samples);
  /// Fills all inputs of the program. `lossScale` is that of the role
  /// `loss_scale`: the loss normalization times the loss scale.
  void load(const Dataset &data, std::span<const int64_t> samples,
            double lossScale);

private:
  const plan::Plan &plan;
  Rank &rank;
  std::vector<std::byte> staged; // one input's
};

} // namespace shardc::runtime

#endif
