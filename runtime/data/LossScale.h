// What the loss is divided by: the run knows it as soon as a batch is loaded.
#ifndef SHARDC_RUNTIME_DATA_LOSSSCALE_H
#define SHARDC_RUNTIME_DATA_LOSSSCALE_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardc::runtime {

/// Labels of one sample or of a batch that the loss counts: those that are not
/// ignore_index, without the first `shift` ones of the last axis, with which
/// nothing is compared. `shape` is the labels' (first axis: samples), `values`
/// are contiguous, of the labels' dtype (int64 or int32).
int64_t countValidLabels(const plan::Loss &loss, const plan::Tensor &labels,
                         const std::byte *values);

/// What a loss is the mean or the sum of: all labels of a step, or those of a
/// rank in a micro-batch, whose means or sums are then averaged.
enum class LossNorm { Global, Rank };

/// Whether the scale depends on how many labels are valid.
bool countsLabels(const plan::Loss &loss);

/// "cross entropy, the mean over all valid labels of a step".
std::string lossText(const plan::Loss &loss, LossNorm norm);

/// The factor of the loss in each micro-batch of a step, on each rank.
///
///   sum                     1
///   mean of cross_entropy   1 / validLabels, of all ranks and micro-batches of
///                           the step (0 when there are none)
///           mse             1 / elements of all ranks and micro-batches
///           output          1 / (ranks * microBatches)
double lossScale(const plan::Plan &plan, int64_t validLabels,
                 int64_t microBatches = 1);

/// The same with LossNorm::Rank: a sum has 1 / (ranks * microBatches), a mean
/// of cross_entropy 1 / (validLabels * ranks * microBatches), where
/// `validLabels` are this rank's own in this micro-batch (0 when there are
/// none); means of equally many elements are no different.
double lossScaleOfRank(const plan::Plan &plan, int64_t validLabels,
                       int64_t microBatches);

/// Writes the scale in the program's dtype.
void writeScale(double scale, plan::DType dtype, std::byte *destination);

/// The index of the input that holds the labels; -1 for a loss without.
int labelsIndex(const plan::Plan &plan);
/// That input, or null.
const plan::Input *labelsOf(const plan::Plan &plan);

} // namespace shardc::runtime

#endif
