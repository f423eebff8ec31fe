// Attention as graphs of operations: those that cuDNN's engines of scaled dot
// product attention look for.
#ifndef SHARDC_RUNTIME_CUDA_ATTENTION_ATTENTIONGRAPH_H
#define SHARDC_RUNTIME_CUDA_ATTENTION_ATTENTIONGRAPH_H

#include "runtime/cuda/attention/TensorGraph.h"
#include "runtime/device/Entries.h"

namespace shardc::runtime::cuda {

/// Whether graphs say what an entry means: elements of 16 bits in rows that begin
/// at multiples of 16 bytes, head dims that are multiples of 8 up to 256 and,
/// where positions hide keys, windows that are causal and as many keys as
/// queries. Else `why` says what is not.
bool graphsCanSay(const entry::Attention &entry, std::string &why);
bool graphsCanSay(const entry::AttentionGrad &entry, std::string &why);

/// `bias`: added to the scores, float32 [B or 1, H or 1, Sq or 1, Sk]; may be
/// absent. The entry's own bias and mask are not looked at.
TensorGraph attentionGraph(const entry::Attention &entry, const Tensor &bias);

/// How gradients of queries are summed over blocks of keys.
enum class QuerySums {
  Atomic,  // float32 in memory, in any order
  Ordered, // the same, in one order, by an engine that is asked for it
  Scores,  // by a product of the scores' gradients, which lie in memory
};

/// What a graph of the gradient keeps in memory beside the entry's tensors: sums
/// of output * gradient, and of queries' gradients unless the scores' are there.
struct AttentionGradMemory {
  CUdeviceptr address = 0; // a multiple of 256
  /// Of deltas, and of them and all that follows.
  int64_t deltaBytes = 0, bytes = 0;
};
AttentionGradMemory attentionGradMemory(const entry::AttentionGrad &entry,
                                        QuerySums sums, CUdeviceptr address);

/// `bias`: as above. Probabilities are exp(scores - the entry's log_sum_exp),
/// whatever that is.
TensorGraph attentionGradGraph(const entry::AttentionGrad &entry,
                               const Tensor &bias, QuerySums sums,
                               const AttentionGradMemory &memory);

} // namespace shardc::runtime::cuda

#endif
