// Which samples a step trains on.
#ifndef SHARDC_RUNTIME_DATA_SAMPLEORDER_H
#define SHARDC_RUNTIME_DATA_SAMPLEORDER_H

#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// How far a run has come in its samples. It says nothing of steps, so that a
/// run may go on with batches of another size.
struct Cursor {
  int64_t epoch = 0;    // that are behind it
  int64_t position = 0; // samples of this epoch that were taken
  bool operator==(const Cursor &) const = default;
};

/// Who deals a shuffled epoch to the ranks.
enum class Sampler {
  Global, // a step's samples in order: the first `batch` to rank 0, and so on
  Torch,  // as torch's DistributedSampler: every R-th sample to a rank
};

/// What decides the order of samples.
struct OrderSettings {
  bool shuffle = false;
  uint64_t seed = 0;
  Sampler sampler = Sampler::Global;
  /// Whether the last step of a shuffled epoch takes samples from the epoch's
  /// begin again, instead of being left out.
  bool padsLast = false;
  bool operator==(const OrderSettings &) const = default;
};

/// N samples in batches of G (samples of all ranks and micro-batches of a step
/// together); N >= G, unless the last one is padded.
///
/// Not shuffled: a step takes the next G samples, after the last one the first
/// again. Shuffled: an epoch is a permutation drawn from (seed, epoch); the
/// samples at its end that fill no whole batch are left out, and differ from
/// epoch to epoch, or are filled up with those at its begin.
class SampleOrder {
public:
  /// Of the G places of a step, a rank has `batch` in a row in each
  /// micro-batch, after those of the ranks before it.
  SampleOrder(int64_t samples, int64_t globalBatch,
              const OrderSettings &settings, int64_t batch = 1,
              int64_t ranks = 1);

  /// Where the step that comes next begins: at the cursor, or, where too few
  /// samples are left of the epoch, at the next one's begin.
  Cursor begin(const Cursor &cursor) const;
  /// Where the cursor stands behind the step that begins at `begin`.
  Cursor end(const Cursor &begin) const;
  /// The sample at a position in [0, G) of the step that begins at `begin`.
  int64_t sampleAt(const Cursor &begin, int64_t position);
  /// Where the cursor stands behind the first `steps` steps.
  Cursor after(int64_t steps) const;
  /// How many steps there are from a cursor until `epochs` epochs are over:
  /// whole ones of each epoch, or, where it is not shuffled, up to the step in
  /// which the last one ends. Saturated at the largest number.
  int64_t stepsUntil(int64_t epochs, const Cursor &cursor) const;
  /// Samples that were taken up to a cursor, and how often all of them, with
  /// batches of this size: those that shuffled epochs leave out count in
  /// neither.
  int64_t taken(const Cursor &cursor) const;
  double epochs(const Cursor &cursor) const;

private:
  void permute(int64_t epoch);
  int64_t takenPerEpoch() const;

  int64_t samples, globalBatch;
  OrderSettings settings;
  int64_t batch, ranks;
  int64_t permutedEpoch = -1;
  std::vector<int64_t> permutation;
};

} // namespace shardc::runtime

#endif
