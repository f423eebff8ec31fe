// What a run tells of itself while it goes on: numbers of the whole run, not of
// one rank.
#ifndef SHARDC_RUNTIME_METRICS_FIGURES_H
#define SHARDC_RUNTIME_METRICS_FIGURES_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct RunFigures {
  int64_t firstStep = 0;   // from 0; behind a checkpoint where the run goes on
  int64_t steps = 0;       // when it is over
  int64_t globalBatch = 0; // samples of a step
  std::string unit;        // what perSecond counts: tokens or samples
  bool resumed = false;
  double epoch = 0; // before the first step
};

struct LossScaleFigures {
  double scale = 1; // in the step
  double next = 1;  // in the one that comes next
  bool skipped = false;
};

struct StepFigures {
  int64_t step = 0; // from 0
  double loss = 0;
  double gradientNorm = 0; // NaN where none is computed
  double learningRate = 0;
  double seconds = 0;
  double dataSeconds = 0; // of them, what batches took
  double perSecond = 0;   // tokens or samples
  // Behind the step, an earlier run that it goes on from included:
  double epoch = 0; // passes over the data
  int64_t samples = 0;
  std::optional<int64_t> tokens; // where samples are sequences
  // Where the peak of a rank is known:
  std::optional<double> teraflops;   // TFLOP/s of a rank
  std::optional<double> utilization; // their part of the peak
  // Where the loss is scaled:
  std::optional<LossScaleFigures> lossScale;
  double time = 0; // when it was over, in seconds since 1970; Metrics sets it
};

/// What an evaluation has beside its loss: perplexity, accuracy, and what
/// --eval-command makes of its predictions.
struct EvaluationMetric {
  std::string name;
  double value;
};

struct EvaluationFigures {
  int64_t stepsDone = 0;
  double loss = 0;
  int64_t samples = 0;
  double seconds = 0;
  double epoch = 0;
  std::vector<EvaluationMetric> metrics = {};
  double time = 0; // as that of a step
};

struct CheckpointFigures {
  int64_t stepsDone = 0;
  std::string path;
  int64_t bytes = 0;
  double seconds = 0;       // from its begin on
  double writeSeconds = 0;  // of them, until all files were on the disk
  double waitedSeconds = 0; // of all, those that the run did nothing else
  double longestWait = 0;   // of these, seconds at once
};

struct EndFigures {
  bool interrupted = false;
  std::string text; // the summary, as a line for people
  const nlohmann::ordered_json &summary;
};

} // namespace shardc::runtime

#endif
