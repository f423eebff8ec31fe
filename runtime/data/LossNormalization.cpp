// The formulas of the normalization, and how valid labels are counted.
#include "runtime/data/LossNormalization.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/LossKinds.h"

#include <algorithm>

namespace shardc::runtime {

template <typename Label>
static CountedLabels countIn(const plan::Loss &loss, const Label *labels,
                             int64_t rows, int64_t length) {
  const auto ignored = static_cast<Label>(loss.ignore_index());
  const int64_t first = std::min<int64_t>(loss.shift(), length);
  CountedLabels counted;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = row * length + first; i < (row + 1) * length; ++i) {
      if (labels[i] == ignored)
        continue;
      ++counted.count;
      if (labels[i] >= 0 && labels[i] < loss.class_weights_size())
        counted.weight += loss.class_weights(static_cast<int>(labels[i]));
    }
  if (loss.class_weights_size() == 0)
    counted.weight = static_cast<double>(counted.count);
  return counted;
}

CountedLabels countLabels(const plan::Loss &loss, const plan::Tensor &labels,
                          const std::byte *values) {
  int64_t elements = 1;
  for (int64_t dim : labels.shape())
    elements *= dim;
  int64_t length = labels.shape(labels.shape_size() - 1);
  if (elements == 0)
    return {};
  if (labels.dtype() == plan::INT32)
    return countIn(loss, reinterpret_cast<const int32_t *>(values),
                   elements / length, length);
  return countIn(loss, reinterpret_cast<const int64_t *>(values),
                 elements / length, length);
}

bool hasFixedElements(const plan::Loss &loss) {
  const LossKind *kind = findLossKind(loss.kind());
  return kind && hasFixedElements(kind->of);
}

bool countsLabels(const plan::Loss &loss) {
  return loss.kind() == "cross_entropy" && loss.reduction() != "sum";
}

std::string lossText(const plan::Loss &loss, LossNorm norm) {
  const LossKind &kind = *findLossKind(loss.kind());
  const char *reduction = loss.reduction() == "sum" ? "sum" : "mean";
  bool isOfRanks = norm == LossNorm::Rank;
  if (kind.of == LossMean::Labels && isOfRanks)
    return concat(kind.text,
                  ", the mean over ranks and micro-batches of each one's ",
                  reduction, " over its valid labels",
                  loss.class_weights_size() ? weightedText : "");
  if (kind.of == LossMean::Batches && isOfRanks)
    reduction = "mean";
  return concat(kind.text, ", the ", reduction, " over ", lossMeanText(kind.of),
                loss.class_weights_size() ? weightedText : "");
}

static double batchesOf(const plan::Plan &plan, int64_t microBatches) {
  return static_cast<double>(plan.mesh().ranks()) *
         static_cast<double>(microBatches);
}

double lossNormalization(const plan::Plan &plan, double labelWeight,
                         int64_t microBatches) {
  const plan::Loss &loss = plan.loss();
  double batches = batchesOf(plan, microBatches);
  if (loss.reduction() == "sum")
    return 1;
  if (loss.kind() == "cross_entropy")
    return labelWeight != 0 ? 1 / labelWeight : 0;
  if (hasFixedElements(loss))
    return 1 / (static_cast<double>(loss.elements()) * batches);
  return 1 / batches;
}

double lossNormalizationOfRank(const plan::Plan &plan, double labelWeight,
                               int64_t microBatches) {
  if (plan.loss().reduction() == "sum")
    return 1 / batchesOf(plan, microBatches);
  if (!countsLabels(plan.loss()))
    return lossNormalization(plan, labelWeight, microBatches);
  return labelWeight != 0 ? 1 / (labelWeight * batchesOf(plan, microBatches))
                          : 0;
}

void writeScale(double scale, plan::DType dtype, std::byte *destination) {
  convertElements(&scale, plan::FLOAT64, destination, dtype, 1);
}

int labelsIndex(const plan::Plan &plan) {
  if (!plan.loss().labels().empty())
    for (int i = 0; i < plan.inputs_size(); ++i)
      if (plan.inputs(i).name() == plan.loss().labels())
        return i;
  return -1;
}

const plan::Input *labelsOf(const plan::Plan &plan) {
  int index = labelsIndex(plan);
  return index < 0 ? nullptr : &plan.inputs(index);
}

} // namespace shardc::runtime
