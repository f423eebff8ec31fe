// What is said of a run when it ends: the last line of --metrics, and of the
// console.
#ifndef SHARDC_RUNTIME_TRAIN_SUMMARY_H
#define SHARDC_RUNTIME_TRAIN_SUMMARY_H

#include "runtime/metrics/Figures.h"
#include "runtime/metrics/RankRecord.h"
#include "runtime/plan.pb.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct Summary {
  std::optional<double> loss;               // of the last step
  std::optional<double> evalLoss;           // of the last evaluation
  std::vector<EvaluationMetric> metrics;    // of it
  std::optional<double> secondsToFirstStep; // from the process's start to the
                                            // end of the first step
  int64_t microBatches = 1;                 // of a step
  int64_t checkpointCopyBytes = 0;          // of a rank, at most
  int64_t skippedSteps = 0;                 // loss or gradients were not finite
  std::optional<double> lossScale; // after the last step, where there is one
  double trainSeconds = 0;
  double trainUnits = 0; // tokens or samples

  /// The event of --metrics: with planned and allocated bytes by rank and pool,
  /// and with the collectives per step that the ranks started. `dataSeconds`:
  /// what a rank spent on batches in all.
  nlohmann::ordered_json json(const plan::Plan &plan,
                              const std::vector<RankRecord> &ranks,
                              int64_t steps, double dataSeconds,
                              bool interrupted) const;
  std::string text(const std::string &unit) const;
};

} // namespace shardc::runtime

#endif
