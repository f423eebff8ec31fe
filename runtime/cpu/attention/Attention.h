// nn.attention and its gradient, blockwise: scores exist for one block of
// queries and keys per thread (Dao et al., arXiv:2205.14135). Their semantics
// are in frontend/nn/ops/Attention.td. Elements of 16 bits are converted block
// by block: scores, sums and gradients are float32, and each result is rounded
// once.
#ifndef SHARDC_RUNTIME_CPU_ATTENTION_ATTENTION_H
#define SHARDC_RUNTIME_CPU_ATTENTION_ATTENTION_H

#include "runtime/base/Tensor.h"
#include "runtime/cpu/WorkspaceSizes.h"

#include <cstdint>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// The operands are query [B, Sq, H, D], key [B, Sk, G, D] and value [B, Sk, G,
/// E], with any strides and a contiguous last dim; G divides H.
struct Attention {
  Tensor query, key, value;
  Tensor bias;    // [B or 1, H or 1, Sq or 1, Sk], optional; query's type or
                  // float32
  Tensor keyMask; // bool [B, Sk], optional
  Tensor sinks;   // [H], optional; query's type or float32
  double scale = 1;
  double softcap = 0; // 0: none
  // Keys before and behind a query's own, i + Sk - Sq, that it sees; -1: all.
  int64_t left = -1, right = -1;
  // int32 [8]: what drops probabilities, if anything does. Row i of the scores
  // [B, H, Sq] belongs to sample i / rowStride % samples; samples = 0: all
  // samples are dropped alike.
  Tensor words;
  int64_t samples = 0, rowStride = 0;
};

/// Bytes of scratch memory per thread.
int64_t attentionWorkspace(const Attention &attention);
int64_t attentionGradWorkspace(const Attention &attention);

/// Writes output [B, Sq, H, E], whose last dim is contiguous, and optionally
/// logSumExp [B, H, Sq], contiguous and of the type that is computed in.
/// `workspace` has a slice of attentionWorkspace() bytes for each of `workers`.
/// At most `workers` threads take part.
void attention(const Attention &attention, const Tensor &output,
               const Tensor &logSumExp, std::byte *workspace, int workers,
               ThreadPool &pool);

struct AttentionGradients {
  Tensor gradient, output, logSumExp; // read
  // Written, in the layouts of query, key and value.
  Tensor queryGradient, keyGradient, valueGradient;
};
void attentionGrad(const Attention &attention,
                   const AttentionGradients &gradients, std::byte *workspace,
                   int workers, ThreadPool &pool);

} // namespace shardc::runtime::cpu

#endif
