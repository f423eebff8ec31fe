// The kinds of losses: what a plan calls them, what people do, and what each is
// the mean over.
#ifndef SHARDC_RUNTIME_BASE_LOSSKINDS_H
#define SHARDC_RUNTIME_BASE_LOSSKINDS_H

#include <algorithm>
#include <iterator>
#include <string_view>

namespace shardc::runtime {

enum class LossMean {
  Labels,   // those that are valid: how many the data say
  Elements, // of the output
  Rows,     // of the output: all its dims but the last
  Batches,  // ranks and micro-batches, each of which has a loss of its own
};

struct LossKind {
  std::string_view name; // plan.proto's Loss.kind
  std::string_view text;
  LossMean of;
};

inline constexpr LossKind lossKinds[] = {
    {"cross_entropy", "cross entropy", LossMean::Labels},
    {"soft_cross_entropy", "cross entropy of probabilities", LossMean::Rows},
    {"binary_cross_entropy", "binary cross entropy", LossMean::Elements},
    {"mse", "mean squared error", LossMean::Elements},
    {"l1", "mean absolute error", LossMean::Elements},
    {"smooth_l1", "smooth L1", LossMean::Elements},
    {"huber", "Huber", LossMean::Elements},
    {"output", "the graph's own", LossMean::Batches}};

/// Null for a name that is none's.
inline const LossKind *findLossKind(std::string_view name) {
  auto found = std::ranges::find(lossKinds, name, &LossKind::name);
  return found == std::end(lossKinds) ? nullptr : found;
}

/// "all valid labels of a step"
constexpr std::string_view lossMeanText(LossMean of) {
  switch (of) {
  case LossMean::Labels:
    return "all valid labels of a step";
  case LossMean::Elements:
    return "all elements of a step";
  case LossMean::Rows:
    return "all rows of a step";
  case LossMean::Batches:
    return "ranks and micro-batches";
  }
}

/// Behind it, where classes have weights.
inline constexpr std::string_view weightedText = ", weighted by class";

/// Whether a batch has always the same number of what the loss is the mean
/// over, which the plan has as Loss.elements.
constexpr bool hasFixedElements(LossMean of) {
  return of == LossMean::Elements || of == LossMean::Rows;
}

} // namespace shardc::runtime

#endif
