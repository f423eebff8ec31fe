// Bytes of scratch memory that library calls need: the compiler's side of the
// agreement whose other side asserts them in the runtime. runtime/plan.proto
// lists the same formulas.
//
// `elementBytes`: of the tensors' elements. Those of 16 bits are computed with
// as float32, which takes scratch memory for what is converted.
#ifndef SHARDC_CODEGEN_STEP_WORKSPACE_H
#define SHARDC_CODEGEN_STEP_WORKSPACE_H

#include <cstdint>

namespace shardc::step {

/// Rows of queries and of keys in a block of attention.
constexpr int64_t queryBlock = 64;
constexpr int64_t keyBlock = 128;

/// Bytes of a product's scratch for `workers` threads, [m, k] by [k, n]: for
/// each, parts of both operands, of the result and of the bias in float32; 0
/// where nothing is converted.
int64_t gemmWorkspace(int64_t m, int64_t n, int64_t k, int64_t elementBytes,
                      int64_t workers);

struct AttentionSizes {
  int64_t elementBytes = 0;
  int64_t queryDim = 0, valueDim = 0; // of one head
  int64_t keys = 0;                   // length of their sequence
};

/// Bytes of nn.attention's scratch for `workers` threads: for each, a block of
/// scores, and maximum and sum of each query row in it; converted blocks of
/// query, key, value and output.
int64_t attentionWorkspace(const AttentionSizes &sizes, int64_t workers);

/// Bytes of nn.attention_grad's: for each worker, a block of scores and one of
/// their gradients, and one value per query row in it; converted blocks, and
/// gradients of the keys and values of one head in float32.
int64_t attentionGradWorkspace(const AttentionSizes &sizes, int64_t workers);

/// Bytes of nn.cross_entropy's: a float64 per row.
int64_t crossEntropyWorkspace(int64_t rows);

/// Rows of logits that nn.linear_cross_entropy holds at a time, a multiple of
/// 64 and at least 64: 256, since each chunk is another pass over the weight
/// gradient; more where 16 MiB hold them, and fewer where 64 MiB hold no 256.
int64_t linearCrossEntropyChunk(int64_t rows, int64_t classes,
                                int64_t elementBytes);

struct LinearCrossEntropySizes {
  int64_t rows = 0, features = 0, classes = 0;
  int64_t elementBytes = 0; // of input and weight
  /// Gradients of 16 bits, which are summed in float32 first.
  bool roundsWeightGradient = false, roundsBiasGradient = false;
};

/// Bytes of nn.linear_cross_entropy's: a chunk of logits, a float64 per row,
/// the products' scratch, and sums of gradients that are rounded.
int64_t linearCrossEntropyWorkspace(const LinearCrossEntropySizes &sizes,
                                    int64_t workers);

} // namespace shardc::step

#endif
