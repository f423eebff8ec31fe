// The loss over held samples, as if they were one batch.
#ifndef SHARDC_RUNTIME_TRAIN_EVALUATION_H
#define SHARDC_RUNTIME_TRAIN_EVALUATION_H

#include "runtime/data/Dataset.h"
#include "runtime/engine/Executor.h"
#include "runtime/metrics/Figures.h"
#include "runtime/plan.pb.h"
#include "runtime/train/BatchLoader.h"
#include "runtime/train/RunSettings.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

struct EvaluationResult {
  double loss = 0;
  /// perplexity: exp(loss), where that is the mean over labels of a cross
  /// entropy. accuracy: the part of the valid labels whose logit is the largest
  /// of its row (of equal ones the first), where the plan counts them. Others
  /// are of --eval-command.
  std::vector<EvaluationMetric> metrics;

  std::optional<double> find(const std::string &name) const {
    for (const EvaluationMetric &metric : metrics)
      if (metric.name == name)
        return metric.value;
    return std::nullopt;
  }
};

/// Whether evaluations of this plan count labels that are right: shardc
/// --metric accuracy.
bool hasAccuracy(const plan::Plan &plan);

/// One rank's part. Batches are loaded like training batches; the last one is
/// filled up with samples that do not count.
///
/// cross_entropy: the mean or the sum over the valid labels of all samples.
/// mse: the mean over the elements of all samples. output: the graph's own
/// value, averaged or added over whole batches: what is left behind them is
/// predicted, and counts in no loss.
class Evaluation {
public:
  /// Throws an Error where there is no sample, or no whole batch and the loss is
  /// the graph's own, or has no labels to leave out while numbers are drawn for
  /// every sample.
  Evaluation(const plan::Plan &plan, const RunSettings &settings,
             const Dataset &data, Rank &rank);

  using Take = std::function<void(int64_t first)>;

  /// To be called by all ranks; all get the same values. `take` gets the first
  /// sample of each batch, when the outputs of its evaluation lie where the plan
  /// says; of all samples, those included that no loss is of.
  EvaluationResult operator()(const Take &take = {});

  /// The samples from `first` on once more, for `take` alone.
  void visit(const Take &take, int64_t first = 0);

  /// The check of the constructor, before ranks exist.
  static void check(const plan::Plan &plan, const Dataset &data);
  /// How many samples, from the first on, losses are of.
  static int64_t countedSamples(const plan::Plan &plan, const Dataset &data);
  /// What the user should know of the others; empty: there are none.
  static std::string leftOutText(const plan::Plan &plan, const Dataset &data);

private:
  /// The summed loss of the batch whose place i holds sampleAt(i); its numbers
  /// are drawn for the samples from `first` on.
  template <typename SampleAt>
  double run(int64_t first, SampleAt sampleAt, double scale);
  double normalizationOfAll() const;
  CountedLabels countLabels();
  double loss(const Take &take);

  const plan::Plan &plan;
  const RunSettings &settings;
  const Dataset &data;
  Rank &rank;
  BatchLoader loader;
  int64_t batch, globalBatch, counted;
  double normalization = -1; // not yet known
  CountedLabels labels;      // of all samples
  double correct = 0;        // of this rank, in the evaluation that goes on
};

} // namespace shardc::runtime

#endif
