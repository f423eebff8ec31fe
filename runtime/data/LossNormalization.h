// Loss normalization: the factor that makes a mean of the summed loss. A run
// knows it as soon as a batch is loaded. (Loss scaling, which keeps 16-bit
// gradients in range, is train/LossScaler.h's. The program has one input for
// both, of the role `loss_scale`: their product.)
#ifndef SHARDC_RUNTIME_DATA_LOSSNORMALIZATION_H
#define SHARDC_RUNTIME_DATA_LOSSNORMALIZATION_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardc::runtime {

/// The labels that a loss counts, and the sum of their classes' weights: as
/// much where the loss has none.
struct CountedLabels {
  int64_t count = 0;
  double weight = 0;
};

/// Counts the labels of one sample or of a batch that the loss counts: those
/// that are not ignore_index, without the first `shift` ones of the last axis,
/// with which nothing is compared. `labels` has their shape (first axis:
/// samples) and dtype (int64 or int32), `values` are contiguous. What is no
/// class weighs nothing here, and stops the run where it is read.
CountedLabels countLabels(const plan::Loss &loss, const plan::Tensor &labels,
                          const std::byte *values);

/// What a loss is the mean or the sum of: all labels of a step, or those of a
/// rank in a micro-batch, whose means or sums are then averaged.
enum class LossNorm { Global, Rank };

/// Whether the loss is a mean over the elements or rows of an output, as many
/// in every batch.
bool hasFixedElements(const plan::Loss &loss);

/// Whether the normalization depends on which labels are valid.
bool countsLabels(const plan::Loss &loss);

/// Says "cross entropy, the mean over all valid labels of a step".
std::string lossText(const plan::Loss &loss, LossNorm norm);

/// Returns the factor of the loss in each micro-batch of a step, on each rank.
///
///   sum                     1
///   mean of cross_entropy   1 / labelWeight, of all ranks and micro-batches of
///                           the step (0 when that is 0)
///           elements, rows  1 / those of all ranks and micro-batches
///           output          1 / (ranks * microBatches)
double lossNormalization(const plan::Plan &plan, double labelWeight,
                         int64_t microBatches = 1);

/// Returns the same with LossNorm::Rank: a sum has 1 / (ranks * microBatches),
/// a mean of cross_entropy 1 / (labelWeight * ranks * microBatches), where
/// `labelWeight` is that of this rank's own in this micro-batch (0 when that is
/// 0); means of equally many elements are no different.
double lossNormalizationOfRank(const plan::Plan &plan, double labelWeight,
                               int64_t microBatches);

/// Writes the program's input of the role `loss_scale` in its dtype: the
/// normalization times the loss scale.
void writeScale(double scale, plan::DType dtype, std::byte *destination);

/// Returns the index of the input that holds the labels; -1 for a loss without.
int labelsIndex(const plan::Plan &plan);
/// Returns that input, or null.
const plan::Input *labelsOf(const plan::Plan &plan);

} // namespace shardc::runtime

#endif
