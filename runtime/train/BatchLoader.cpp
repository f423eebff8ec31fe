// A rank's batches, from the samples to the device.
#include "runtime/train/BatchLoader.h"

#include "runtime/base/DType.h"
#include "runtime/base/Tensor.h"

namespace shardc::runtime {

int64_t batchBytes(const plan::Plan &plan) {
  int64_t bytes = 0;
  for (const plan::Input &input : plan.inputs())
    if (isGiven(input))
      bytes += bytesOf(input.tensor());
  return bytes;
}

void readBatch(const plan::Plan &plan, const Dataset &data, Batch &batch) {
  batch.values.resize(batchBytes(plan));
  batch.labelWeight = 0;
  std::byte *values = batch.values.data();
  for (int i = 0; i < plan.inputs_size(); ++i) {
    const plan::Input &input = plan.inputs(i);
    if (!isGiven(input))
      continue;
    data.load(i, batch.samples, values);
    if (countsLabels(plan.loss()) && i == labelsIndex(plan))
      batch.labelWeight =
          countLabels(plan.loss(), input.tensor(), values).weight;
    values += bytesOf(input.tensor());
  }
}

CountedLabels BatchLoader::countLabels(const Dataset &data,
                                       std::span<const int64_t> samples) {
  int index = labelsIndex(plan);
  const plan::Tensor &labels = plan.inputs(index).tensor();
  staged.values.resize(batchBytes(plan));
  data.load(index, samples, staged.values.data());
  return runtime::countLabels(plan.loss(), labels, staged.values.data());
}

void BatchLoader::load(const Dataset &data, std::span<const int64_t> samples,
                       double lossScale) {
  staged.samples.assign(samples.begin(), samples.end());
  readBatch(plan, data, staged);
  load(staged, lossScale);
}

void BatchLoader::load(const Batch &batch, double lossScale) {
  loadInputs(batch);
  loadScale(lossScale);
}

void BatchLoader::loadInputs(const Batch &batch) {
  const std::byte *values = batch.values.data();
  for (const plan::Input &input : plan.inputs()) {
    if (!isGiven(input))
      continue;
    Slice slice = rank.tensor(input.tensor());
    rank.write(slice, 0, slice.elements, values);
    values += bytesOf(input.tensor());
  }
}

void BatchLoader::loadScale(double lossScale) {
  plan::DType dtype = plan.loss().scale_dtype();
  std::byte scale[sizeof(double)];
  writeScale(lossScale, dtype, scale);
  rank.write(rank.buffer(plan.loss().scale_buffer()), 0,
             int64_t(elementSize(dtype)), scale);
}

void BatchLoader::loadDraws(std::span<const int32_t> words) {
  rank.write(rank.buffer(plan.draws().buffer()), 0,
             static_cast<int64_t>(words.size_bytes()),
             reinterpret_cast<const std::byte *>(words.data()));
}

void BatchLoader::loadRunning(std::span<const double> weights) {
  const plan::Running &running = plan.running();
  std::vector<std::byte> values(weights.size() * elementSize(running.dtype()));
  convertElements(reinterpret_cast<const std::byte *>(weights.data()),
                  plan::FLOAT64, values.data(), running.dtype(),
                  std::ssize(weights));
  rank.write(rank.buffer(running.buffer()), 0, std::ssize(values),
             values.data());
}

} // namespace shardc::runtime
