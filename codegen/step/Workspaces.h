// Bytes of scratch memory that library calls need: what a target's runtime asks
// for. The other side of the agreement is the device that binds the calls,
// which refuses a workspace that is too small.
#ifndef SHARDC_CODEGEN_STEP_WORKSPACES_H
#define SHARDC_CODEGEN_STEP_WORKSPACES_H

#include <cstdint>

namespace shardc::step {

/// `elementBytes`: of the tensors' elements, here and below.
struct AttentionSizes {
  int64_t elementBytes = 0;
  int64_t queryDim = 0, valueDim = 0; // of one head
  int64_t keys = 0;                   // length of their sequence
  int64_t queries = 0;                // rows of scores: batch * heads * length
  int64_t queryLength = 0;            // of one sequence
  int64_t heads = 1, groups = 1;      // of queries, and of keys and values
  /// Of what is added to the scores: a bias, a mask of keys, or both; 0: nothing.
  int64_t addends = 0;
};

struct LinearCrossEntropySizes {
  int64_t rows = 0, features = 0, classes = 0;
  int64_t elementBytes = 0; // of input and weight
  /// Gradients of 16 bits, which are summed in float32 first.
  bool roundsWeightGradient = false, roundsBiasGradient = false;
};

class Workspaces {
public:
  virtual ~Workspaces() = default;

  /// Of a product [m, k] by [k, n].
  virtual int64_t gemm(int64_t m, int64_t n, int64_t k,
                       int64_t elementBytes) const = 0;
  /// Of nn.attention and its gradient.
  virtual int64_t attention(const AttentionSizes &sizes) const = 0;
  virtual int64_t attentionGrad(const AttentionSizes &sizes) const = 0;
  /// Of nn.cross_entropy: a float64 per row, since the rows' losses are added
  /// in order.
  int64_t crossEntropy(int64_t rows) const { return rows * 8; }
  /// Rows of logits that nn.linear_cross_entropy holds at a time, at least one.
  virtual int64_t
  linearCrossEntropyChunk(const LinearCrossEntropySizes &sizes) const = 0;
  virtual int64_t
  linearCrossEntropy(const LinearCrossEntropySizes &sizes) const = 0;
  /// Of sums over the ranks of a group: of flat gradients of so many bytes, each
  /// rank keeping its slice, and of a value of so many elements.
  virtual int64_t reduceScatter(int64_t bytes, int64_t ranks) const = 0;
  virtual int64_t allReduce(int64_t elements, int64_t elementBytes,
                            int64_t ranks) const = 0;
};

} // namespace shardc::step

#endif
