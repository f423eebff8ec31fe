// A rank's batches, from the samples to the device.
#include "runtime/train/BatchLoader.h"

#include "runtime/base/DType.h"
#include "runtime/base/Tensor.h"
#include "runtime/data/LossNormalization.h"

#include <algorithm>

namespace shardc::runtime {

static size_t bytesOf(const plan::Tensor &tensor) {
  return elementCount(tensor) * elementSize(tensor.dtype());
}

BatchLoader::BatchLoader(const plan::Plan &plan, Rank &rank)
    : plan(plan), rank(rank) {
  size_t most = 0;
  for (const plan::Input &input : plan.inputs())
    if (isGiven(input))
      most = std::max(most, bytesOf(input.tensor()));
  staged.resize(most);
}

int64_t BatchLoader::countLabels(const Dataset &data,
                                 std::span<const int64_t> samples) {
  int index = labelsIndex(plan);
  data.load(index, samples, staged.data());
  return countValidLabels(plan.loss(), plan.inputs(index).tensor(),
                          staged.data());
}

void BatchLoader::load(const Dataset &data, std::span<const int64_t> samples,
                       double lossScale) {
  for (int i = 0; i < plan.inputs_size(); ++i) {
    const plan::Input &input = plan.inputs(i);
    if (!isGiven(input))
      continue;
    data.load(i, samples, staged.data());
    Slice slice = rank.tensor(input.tensor());
    rank.write(slice, 0, slice.elements, staged.data());
  }
  plan::DType dtype = plan.loss().scale_dtype();
  std::byte scale[sizeof(double)];
  writeScale(lossScale, dtype, scale);
  rank.write(rank.buffer(plan.loss().scale_buffer()), 0,
             int64_t(elementSize(dtype)), scale);
}

} // namespace shardc::runtime
