// Which samples a step trains on.
#include "runtime/data/SampleOrder.h"

#include "runtime/base/Random.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace shardc::runtime {

SampleOrder::SampleOrder(int64_t samples, int64_t globalBatch,
                         const OrderSettings &settings, int64_t batch,
                         int64_t ranks)
    : samples(samples), globalBatch(globalBatch), settings(settings),
      batch(batch), ranks(ranks) {}

Cursor SampleOrder::begin(const Cursor &cursor) const {
  int64_t needed = settings.padsLast ? 1 : globalBatch;
  if (settings.shuffle && samples - cursor.position < needed)
    return {cursor.epoch + 1, 0};
  return cursor;
}

Cursor SampleOrder::end(const Cursor &begin) const {
  int64_t position = begin.position + globalBatch;
  if (settings.shuffle && position >= samples)
    return {begin.epoch + 1, 0};
  return {begin.epoch + position / samples, position % samples};
}

int64_t SampleOrder::sampleAt(const Cursor &begin, int64_t position) {
  if (!settings.shuffle)
    return (begin.position + position) % samples;
  if (begin.epoch != permutedEpoch)
    permute(begin.epoch);
  if (settings.sampler == Sampler::Torch) {
    int64_t atOnce = batch * ranks;
    int64_t first = position / atOnce * atOnce;
    int64_t rank = position % atOnce / batch;
    position = first + position % batch * ranks + rank;
  }
  return permutation[(begin.position + position) % samples];
}

Cursor SampleOrder::after(int64_t steps) const {
  if (settings.shuffle) {
    int64_t perEpoch = stepsUntil(1, {});
    return {steps / perEpoch, steps % perEpoch * globalBatch};
  }
  // Of `samples` steps all epochs are whole.
  int64_t rest = steps % samples * globalBatch;
  return {steps / samples * globalBatch + rest / samples, rest % samples};
}

int64_t SampleOrder::stepsUntil(int64_t epochs, const Cursor &cursor) const {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t left = epochs - cursor.epoch; // this one included
  if (left <= 0)
    return 0;
  int64_t count, steps;
  if (!settings.shuffle) // epochs follow each other within steps
    return __builtin_mul_overflow(left, samples, &count)
               ? most
               : (count - cursor.position - 1) / globalBatch + 1;
  auto stepsOf = [&](int64_t count) {
    return count / globalBatch +
           (settings.padsLast && count % globalBatch ? 1 : 0);
  };
  // What is left of this epoch, then whole ones.
  if (__builtin_mul_overflow(left - 1, stepsOf(samples), &steps) ||
      __builtin_add_overflow(steps, stepsOf(samples - cursor.position), &steps))
    return most;
  return steps;
}

int64_t SampleOrder::takenPerEpoch() const {
  bool drops = settings.shuffle && !settings.padsLast;
  return drops ? samples - samples % globalBatch : samples;
}

int64_t SampleOrder::taken(const Cursor &cursor) const {
  return cursor.epoch * takenPerEpoch() + cursor.position;
}

double SampleOrder::epochs(const Cursor &cursor) const {
  // A run that goes on with larger batches may be behind the last of them.
  double part = static_cast<double>(cursor.position) /
                static_cast<double>(takenPerEpoch());
  return static_cast<double>(cursor.epoch) + std::min(part, 1.0);
}

/// Fisher and Yates' shuffle.
void SampleOrder::permute(int64_t epoch) {
  permutation.resize(samples);
  std::iota(permutation.begin(), permutation.end(), 0);
  permutedEpoch = epoch;
  if (settings.sampler == Sampler::Torch) {
    // torch.randperm with a generator of this seed.
    std::mt19937 random(
        static_cast<uint32_t>(settings.seed + static_cast<uint64_t>(epoch)));
    for (int64_t i = 0; i + 1 < samples; ++i)
      std::swap(
          permutation[i],
          permutation[i + static_cast<int64_t>(
                              random() % static_cast<uint64_t>(samples - i))]);
    return;
  }
  RandomStream stream(settings.seed, "shuffle");
  for (int64_t last = samples - 1; last > 0; --last)
    std::swap(permutation[last],
              permutation[stream.below(last + 1, last, epoch)]);
}

} // namespace shardc::runtime
