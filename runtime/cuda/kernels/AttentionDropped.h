// What drops attention's probabilities: docs/randomness.md.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONDROPPED_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONDROPPED_H

#include "runtime/base/Threefry.h"
#include "runtime/cuda/kernels/AttentionScores.h"

namespace shardc::runtime::cuda {

/// What a run has drawn for the attention, if it drops probabilities.
struct DrawnForAttention {
  const int *words;

  SHARDC_INLINE explicit DrawnForAttention(const AttentionParameters &a)
      : words(reinterpret_cast<const int *>(a.words)) {}

  /// Rows of samples lie side by side; sample and number are of one of them.
  SHARDC_INLINE TwoWords<Bits32> draw(unsigned sample, unsigned number,
                                      int key) const {
    return threefry2x32(Bits32{unsigned(words[Key0])},
                        Bits32{words[Key1] + number},
                        Bits32{drawOfKey(unsigned(key))}, Bits32{sample});
  }
  SHARDC_INLINE unsigned firstSample() const {
    return unsigned(words[FirstSample]);
  }
  /// What parts are compared with.
  SHARDC_INLINE int threshold() const { return words[Threshold] >> 16; }
  SHARDC_INLINE double scale() const {
    return __builtin_bit_cast(
        double, static_cast<unsigned long long>(unsigned(words[ScaleHigh]))
                        << 32 |
                    unsigned(words[ScaleLow]));
  }
};

/// What kept probabilities are multiplied with.
template <typename T>
SHARDC_INLINE T scaleOfKept(const AttentionParameters &a) {
  return a.words ? T(DrawnForAttention(a).scale()) : T(1);
}

/// One row of scores, of those of all heads.
struct DrawnRow : DrawnForAttention {
  unsigned sample, number;

  SHARDC_INLINE DrawnRow(const AttentionParameters &a, Count row)
      : DrawnForAttention(a), sample(0), number(unsigned(row)) {
    if (a.samples == 0)
      return;
    Count before = row / a.rowStride;
    sample = firstSample() + unsigned(before % a.samples);
    number = unsigned(before / a.samples * a.rowStride + row % a.rowStride);
  }
  SHARDC_INLINE TwoWords<Bits32> draw(int key) const {
    return DrawnForAttention::draw(sample, number, key);
  }
};

/// The rows of one head that samples do not divide.
struct DrawnHead : DrawnForAttention {
  unsigned sample, number; // of its first row

  SHARDC_INLINE DrawnHead(const AttentionParameters &a, int head)
      : DrawnForAttention(a), sample(0) {
    if (a.samples != 0) {
      int stride = int(a.headStride), samples = int(a.samples);
      sample = firstSample() + unsigned(head / stride % samples);
      head = head / (stride * samples) * stride + head % stride;
    }
    number = unsigned(head) * unsigned(a.queries);
  }
  SHARDC_INLINE TwoWords<Bits32> draw(int row, int key) const {
    return DrawnForAttention::draw(sample, number + unsigned(row), key);
  }
};

/// Where a walk over keys begins that draws them: with a group of them.
SHARDC_INLINE int firstDrawnKey(const AttentionParameters &a, int query) {
  int key = firstKey(a, query);
  return a.words ? key - key % int(drawnKeys) : key;
}

} // namespace shardc::runtime::cuda

#endif
