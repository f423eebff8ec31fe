// Which samples a step trains on.
#ifndef SHARDC_RUNTIME_DATA_SAMPLEORDER_H
#define SHARDC_RUNTIME_DATA_SAMPLEORDER_H

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// N samples in batches of G (samples of all ranks and micro-batches of a step
/// together), N >= G.
///
/// Not shuffled: step k takes samples kG to kG + G - 1, modulo N. Shuffled: an
/// epoch is floor(N / G) steps over a permutation drawn from (seed, epoch), so
/// the samples that fill no whole batch differ from epoch to epoch.
class SampleOrder {
public:
  SampleOrder(int64_t samples, int64_t globalBatch, bool shuffle,
              uint64_t seed);

  int64_t stepsPerEpoch() const { return samples / globalBatch; }
  /// The sample at a position in [0, G) of a step's global batch.
  int64_t sampleAt(int64_t step, int64_t position);

private:
  void permute(int64_t epoch);

  int64_t samples, globalBatch;
  bool shuffle;
  uint64_t seed;
  int64_t permutedEpoch = -1;
  std::vector<int64_t> permutation;
};

} // namespace shardc::runtime

#endif
