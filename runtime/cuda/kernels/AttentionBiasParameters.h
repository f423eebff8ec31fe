// What the kernels around cuDNN's attention take: one struct by value. Host and
// device read this header. Addresses are the device's; strides are in elements.
//
// cuDNN adds one tensor of numbers to the scores, and what it makes of a row of
// -inf alone is not said. So what must not be seen is hiddenScore, which is far
// below all other numbers: exponentials of these are 0, and a row of them is
// known by its log_sum_exp.
#ifndef SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONBIASPARAMETERS_H
#define SHARDC_RUNTIME_CUDA_KERNELS_ATTENTIONBIASPARAMETERS_H

#include "runtime/cuda/kernels/AttentionParameters.h"

namespace shardc::runtime::cuda {

/// Added where a key is masked, and the least that a bias adds elsewhere: both
/// times log2(e) are numbers of float32.
inline constexpr float hiddenScore = -1e37f, leastBias = -1e36f;

/// attention_bias_TYPE, where TYPE is the queries': bf16 or f16. Any grid of
/// blocks of attentionThreads.
struct AttentionBiasParameters {
  /// Float32, contiguous. A dim is 1 where all of the scores' have the same.
  Address to;
  Count shape[4];       // [batch, heads, queries, keys]
  Address bias;         // 0: there is none
  Count biasStrides[4]; // 0 in a dim that is broadcast
  Count biasIsFloat32;
  Address keyMask; // bytes [batch, keys], not 0: seen; 0: there is none
  Count keyMaskStrides[2];
};

/// attention_unseen, for elements of 16 bits: rows that see nothing become zeros,
/// and their log_sum_exp -inf. Any grid of blocks of attentionThreads.
struct AttentionUnseenParameters {
  HeadsView output;
  Address logSumExp; // float32 [batch, heads, queries], contiguous
  Count batch, queries, heads, valueDim;
};

} // namespace shardc::runtime::cuda

#endif
