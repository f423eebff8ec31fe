// Which samples a step trains on.
#include "runtime/data/SampleOrder.h"

#include "runtime/base/Random.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace shardc::runtime {

SampleOrder::SampleOrder(int64_t samples, int64_t globalBatch, bool shuffle,
                         uint64_t seed)
    : samples(samples), globalBatch(globalBatch), shuffle(shuffle), seed(seed) {
}

Cursor SampleOrder::begin(const Cursor &cursor) const {
  if (shuffle && samples - cursor.position < globalBatch)
    return {cursor.epoch + 1, 0};
  return cursor;
}

Cursor SampleOrder::end(const Cursor &begin) const {
  int64_t position = begin.position + globalBatch;
  return {begin.epoch + position / samples, position % samples};
}

int64_t SampleOrder::sampleAt(const Cursor &begin, int64_t position) {
  if (!shuffle)
    return (begin.position + position) % samples;
  if (begin.epoch != permutedEpoch)
    permute(begin.epoch);
  return permutation[begin.position + position];
}

Cursor SampleOrder::after(int64_t steps) const {
  if (shuffle) {
    int64_t perEpoch = samples / globalBatch;
    return {steps / perEpoch, steps % perEpoch * globalBatch};
  }
  // Of `samples` steps all epochs are whole.
  int64_t rest = steps % samples * globalBatch;
  return {steps / samples * globalBatch + rest / samples, rest % samples};
}

int64_t SampleOrder::stepsUntil(int64_t epochs, const Cursor &cursor) const {
  int64_t perEpoch = samples / globalBatch;
  int64_t left = epochs - cursor.epoch; // this one included
  if (left <= 0)
    return 0;
  // What is left of this epoch, then whole ones.
  int64_t here = (samples - cursor.position) / globalBatch, steps;
  if (__builtin_mul_overflow(left - 1, perEpoch, &steps) ||
      __builtin_add_overflow(steps, here, &steps))
    return std::numeric_limits<int64_t>::max();
  return steps;
}

int64_t SampleOrder::takenPerEpoch() const {
  return shuffle ? samples - samples % globalBatch : samples;
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
  RandomStream stream(seed, "shuffle");
  permutation.resize(samples);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int64_t last = samples - 1; last > 0; --last)
    std::swap(permutation[last],
              permutation[stream.below(last + 1, last, epoch)]);
  permutedEpoch = epoch;
}

} // namespace shardc::runtime
