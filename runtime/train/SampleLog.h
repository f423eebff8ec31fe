// --log-samples: which samples each step has trained on.
#ifndef SHARDC_RUNTIME_TRAIN_SAMPLELOG_H
#define SHARDC_RUNTIME_TRAIN_SAMPLELOG_H

#include "runtime/comm/Communicator.h"
#include "runtime/data/SampleOrder.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Terminal.h"
#include "runtime/train/RunSettings.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// A rank's part: what it has loaded, not what an order says.
class SampleLog {
public:
  SampleLog(const RunSettings &settings, Communicator &communicator)
      : settings(settings), communicator(communicator),
        samples(settings.globalBatch) {}

  /// The samples that this rank has loaded in a micro-batch of the step.
  void add(int64_t microBatch, std::span<const int64_t> loaded);
  /// Of the step that began at `begin`, and all ranks. To be called by all of
  /// them. One writes: `file` is null elsewhere.
  void write(int64_t step, const Cursor &begin, MetricsFile *file,
             Terminal &terminal);

private:
  const RunSettings &settings;
  Communicator &communicator;
  /// Those of the step, by micro-batch, and in it by rank; 0 for others' ones.
  std::vector<int64_t> samples;
};

} // namespace shardc::runtime

#endif
