// What is added to scores as one tensor, and rows that see nothing.
#include "runtime/cuda/kernels/AttentionBiasParameters.h"
#include "runtime/cuda/kernels/AttentionScores.h"

namespace shardc::runtime::cuda {

template <typename S>
static SHARDC_INLINE void addends(const AttentionBiasParameters &with) {
  auto *to = reinterpret_cast<float *>(with.to);
  auto *mask = reinterpret_cast<const unsigned char *>(with.keyMask);
  Count elements =
      with.shape[0] * with.shape[1] * with.shape[2] * with.shape[3];
  for (Count i = firstElement(); i < elements; i += threadsOfGrid()) {
    Count key = i % with.shape[3], rest = i / with.shape[3];
    Count query = rest % with.shape[2];
    rest /= with.shape[2];
    Count head = rest % with.shape[1], batch = rest / with.shape[1];
    float value = 0;
    if (with.bias) {
      Count at = batch * with.biasStrides[0] + head * with.biasStrides[1] +
                 query * with.biasStrides[2] + key * with.biasStrides[3];
      value = with.biasIsFloat32
                  ? reinterpret_cast<const float *>(with.bias)[at]
                  : computed(reinterpret_cast<const S *>(with.bias)[at]);
    }
    bool isHidden =
        value == -infinity<float> ||
        (mask &&
         !mask[batch * with.keyMaskStrides[0] + key * with.keyMaskStrides[1]]);
    // A NaN stays one.
    to[i] = isHidden ? hiddenScore : value < leastBias ? leastBias : value;
  }
}

SHARDC_KERNEL void attention_bias_bf16(AttentionBiasParameters with) {
  addends<Bf16>(with);
}
SHARDC_KERNEL void attention_bias_f16(AttentionBiasParameters with) {
  addends<F16>(with);
}

SHARDC_KERNEL void attention_unseen(AttentionUnseenParameters with) {
  auto *logSumExp = reinterpret_cast<float *>(with.logSumExp);
  Count rows = with.batch * with.heads * with.queries;
  for (Count i = firstElement(); i < rows; i += threadsOfGrid()) {
    if (!(logSumExp[i] < leastBias * 2))
      continue;
    logSumExp[i] = -infinity<float>;
    Count query = i % with.queries, rest = i / with.queries;
    auto *output = reinterpret_cast<Word16 *>(with.output.data) +
                   rest / with.heads * with.output.batch +
                   rest % with.heads * with.output.head +
                   query * with.output.position;
    for (Count e = 0; e < with.valueDim; ++e)
      output[e] = 0;
  }
}

} // namespace shardc::runtime::cuda
