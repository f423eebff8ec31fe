// What the loss is divided by: the run knows it as soon as a batch is loaded.
#ifndef SHARDC_RUNTIME_DATA_LOSSSCALE_H
#define SHARDC_RUNTIME_DATA_LOSSSCALE_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>

namespace shardc::runtime {

/// Labels of one sample or of a batch that the loss counts: those that are not
/// ignore_index, without the first `shift` ones of the last axis, with which
/// nothing is compared. `shape` is the labels' (first axis: samples), `values`
/// are contiguous, of the labels' dtype (int64 or int32).
int64_t countValidLabels(const plan::Loss &loss, const plan::Tensor &labels,
                         const std::byte *values);

/// The factor of the loss. cross_entropy: 1 / valid labels of the global batch
/// (0 when there are none); mse: 1 / elements of the global batch; output: 1 /
/// ranks.
double lossScale(const plan::Plan &plan, int64_t validLabels);

/// Writes the scale in the program's dtype.
void writeScale(double scale, plan::DType dtype, std::byte *destination);

/// The index of the input that holds the labels; -1 for a loss without.
int labelsIndex(const plan::Plan &plan);
/// That input, or null.
const plan::Input *labelsOf(const plan::Plan &plan);

} // namespace shardc::runtime

#endif
