// How much of a gradient of attention cuDNN computes at a time where the scores'
// gradients lie in memory: the plan's workspace and the device agree by this.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_SCORESINMEMORY_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_SCORESINMEMORY_H

#include <cstdint>
#include <vector>

namespace shardc::runtime::cuda {

/// Whole samples, or heads of one: `groups` heads of keys and values, and those
/// of queries that they belong to.
struct ScoresInMemory {
  int64_t samples = 0, groups = 0;
  int64_t headsPerGroup = 0, queries = 0, keys = 0;
  int64_t dims = 0; // of a key and a value together
  int64_t elementBytes = 0;

  int64_t heads() const { return groups * headsPerGroup; }
  /// Of the scores' gradients, in blocks of 64 by 128 (cuDNN 9.10 to 9.28).
  int64_t scoreBytes() const {
    auto aligned = [](int64_t size, int64_t by) {
      return (size + by - 1) / by * by;
    };
    return samples * heads() * aligned(queries, 64) * aligned(keys, 128) *
           elementBytes;
  }
  /// Of all that cuDNN takes: also heads of keys and values, one for each of
  /// queries, which are added up where a group has several.
  int64_t bytes() const {
    int64_t apart = headsPerGroup > 1 ? samples * heads() * keys * dims : 0;
    return 256 + scoreBytes() + apart * elementBytes;
  }

  /// Equal parts of the whole, the largest first, down to a group of one sample.
  std::vector<ScoresInMemory> parts() const {
    std::vector<ScoresInMemory> all;
    for (int64_t each = samples; each > 0; --each)
      if (samples % each == 0) {
        all.push_back(*this);
        all.back().samples = each;
      }
    for (int64_t each = groups - 1; each > 0; --each)
      if (groups % each == 0) {
        all.push_back(all.back());
        all.back().groups = each;
      }
    return all;
  }
};

} // namespace shardc::runtime::cuda

#endif
