// Which samples a step trains on.
#include "runtime/data/SampleOrder.h"

#include "runtime/base/Random.h"

#include <numeric>
#include <utility>

namespace shardc::runtime {

SampleOrder::SampleOrder(int64_t samples, int64_t globalBatch, bool shuffle,
                         uint64_t seed)
    : samples(samples), globalBatch(globalBatch), shuffle(shuffle), seed(seed) {
}

int64_t SampleOrder::sampleAt(int64_t step, int64_t position) {
  if (!shuffle) {
    // (step mod N) G does not overflow for any step.
    return (step % samples * globalBatch + position) % samples;
  }
  int64_t epoch = step / stepsPerEpoch();
  if (epoch != permutedEpoch)
    permute(epoch);
  return permutation[step % stepsPerEpoch() * globalBatch + position];
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
