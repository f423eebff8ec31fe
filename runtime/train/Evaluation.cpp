// The loss over held samples, as if they were one batch.
#include "runtime/train/Evaluation.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/train/Draws.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

static constexpr std::string_view correctMetric = "correct";

/// Why a batch cannot be filled up with samples that do not count; null: it can.
static const char *whyWholeBatches(const plan::Plan &plan) {
  if (plan.loss().kind() == "output")
    return "a loss that is the graph's own output";
  if (hasFixedElements(plan.loss()) && drawsNumbers(plan))
    return "a mean over elements in a model that draws numbers";
  return nullptr;
}

static int64_t globalBatchOf(const plan::Plan &plan) {
  return batchPerRank(plan) * plan.mesh().ranks();
}

void Evaluation::check(const plan::Plan &plan, const Dataset &data) {
  if (data.samples() == 0)
    fail("--eval-data has no samples");
  data.checkLabels("--eval-data");
  if (const char *why = whyWholeBatches(plan);
      why && data.samples() < globalBatchOf(plan))
    fail("--eval-data has ", data.samples(), " samples; ", why,
         " needs a whole batch of ", globalBatchOf(plan));
}

int64_t Evaluation::countedSamples(const plan::Plan &plan,
                                   const Dataset &data) {
  int64_t samples = data.samples();
  return whyWholeBatches(plan) ? samples - samples % globalBatchOf(plan)
                               : samples;
}

std::string Evaluation::leftOutText(const plan::Plan &plan,
                                    const Dataset &data) {
  int64_t all = data.samples(), counted = countedSamples(plan, data);
  return counted == all
             ? ""
             : concat("the last ", all - counted, " of the ", all,
                      " samples of --eval-data are in no evaluation: ",
                      whyWholeBatches(plan), " needs whole batches of ",
                      globalBatchOf(plan));
}

Evaluation::Evaluation(const plan::Plan &plan, const RunSettings &settings,
                       const Dataset &data, Rank &rank)
    : plan(plan), settings(settings), data(data), rank(rank),
      loader(plan, rank), batch(batchPerRank(plan)),
      globalBatch(globalBatchOf(plan)), counted(countedSamples(plan, data)) {
  check(plan, data);
}

/// Whether exp(loss) is a perplexity: of tokens that count alike, not of one
/// class a sample.
static bool hasPerplexity(const plan::Plan &plan) {
  const plan::Input *labels = labelsOf(plan);
  return plan.loss().kind() == "cross_entropy" &&
         plan.loss().reduction() != "sum" &&
         plan.loss().class_weights_size() == 0 && labels &&
         labels->tensor().shape_size() > 1;
}

bool hasAccuracy(const plan::Plan &plan) {
  return std::ranges::any_of(plan.eval().entries(), [](const auto &entry) {
    return entry.has_metric() && entry.metric().name() == correctMetric;
  });
}

CountedLabels Evaluation::countLabels() {
  int64_t samples = data.samples();
  // Each rank counts its share of the samples.
  CountedLabels all;
  std::vector<int64_t> chosen(batch);
  for (int64_t begin = rank.rank() * batch; begin < samples;
       begin += globalBatch) {
    for (int64_t i = 0; i < batch; ++i)
      chosen[i] = begin + i < samples ? begin + i : Dataset::padding;
    const CountedLabels part = loader.countLabels(data, chosen);
    all.count += part.count;
    all.weight += part.weight;
  }
  const Segment segments[] = {{&all.count, 1, plan::INT64},
                              {&all.weight, 1, plan::FLOAT64}};
  rank.communicator().allReduce(segments);
  return all;
}

double Evaluation::normalizationOfAll() const {
  int64_t batches = (counted + globalBatch - 1) / globalBatch;
  const plan::Loss &loss = plan.loss();
  if (hasFixedElements(loss))
    return 1 / (static_cast<double>(loss.elements()) /
                static_cast<double>(batch) * static_cast<double>(counted));
  if (loss.reduction() == "sum")
    return lossNormalization(plan, 0);
  if (loss.kind() != "cross_entropy")
    return lossNormalization(plan, 0) / static_cast<double>(batches);

  return lossNormalization(plan, labels.weight);
}

template <typename SampleAt>
double Evaluation::run(int64_t first, SampleAt sampleAt, double batchScale) {
  std::vector<int64_t> chosen(batch);
  for (int64_t i = 0; i < batch; ++i)
    chosen[i] = sampleAt(rank.rank() * batch + i);
  loader.load(data, chosen, batchScale);
  loadDrawsOfEvaluation(plan, settings, first + rank.rank() * batch, loader);
  rank.runEval();
  correct += rank.metric(correctMetric).value_or(0);
  return rank.metric("loss").value_or(NAN);
}

void Evaluation::visit(const Take &take, int64_t first) {
  int64_t samples = data.samples();
  for (int64_t begin = first; begin < samples; begin += globalBatch) {
    run(
        begin,
        [&](int64_t place) {
          return begin + place < samples ? begin + place : Dataset::padding;
        },
        0);
    take(begin);
  }
}

EvaluationResult Evaluation::operator()(const Take &take) {
  EvaluationResult result;
  result.loss = loss(take);
  const auto found = static_cast<int64_t>(correct);
  if (take && counted < data.samples())
    visit(take, counted);
  if (hasPerplexity(plan))
    result.metrics.push_back({"perplexity", std::exp(result.loss)});
  if (!hasAccuracy(plan))
    return result;
  // Whole numbers: their sum has no order.
  int64_t all = found;
  Segment segment{&all, 1, plan::INT64};
  rank.communicator().allReduce({&segment, 1});
  // Of nothing, as PyTorch's mean.
  result.metrics.push_back({"accuracy", static_cast<double>(all) /
                                            static_cast<double>(labels.count)});
  return result;
}

double Evaluation::loss(const Take &take) {
  if (normalization < 0) {
    if (plan.loss().kind() == "cross_entropy")
      labels = countLabels();
    normalization = normalizationOfAll();
  }
  correct = 0;
  double sum = 0;
  for (int64_t begin = 0; begin < counted; begin += globalBatch) {
    sum += run(
        begin,
        [&](int64_t place) {
          return begin + place < counted ? begin + place : Dataset::padding;
        },
        normalization);
    if (take)
      take(begin);
  }
  // Padding without labels counts nothing. Where there are none to leave out
  // (means over elements), it was sample 0: a batch of nothing else says what that added.
  int64_t padded = (globalBatch - counted % globalBatch) % globalBatch;
  if (padded && hasFixedElements(plan.loss()))
    sum -= run(
               0, [](int64_t) { return int64_t{0}; }, normalization) /
           static_cast<double>(globalBatch) * static_cast<double>(padded);
  return sum;
}

} // namespace shardc::runtime
