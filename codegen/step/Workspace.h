// Bytes of scratch memory that library calls need: the compiler's side of the
// agreement whose other side asserts them in the runtime. runtime/plan.proto
// lists the same formulas.
#ifndef SHARDC_CODEGEN_STEP_WORKSPACE_H
#define SHARDC_CODEGEN_STEP_WORKSPACE_H

#include <cstdint>

namespace shardc::step {

/// Rows of queries and of keys in a block of attention.
constexpr int64_t queryBlock = 128;
constexpr int64_t keyBlock = 128;

/// Bytes of nn.attention's scratch for `workers` threads: for each, a block of
/// scores, and maximum and sum of each query row in it.
int64_t attentionWorkspace(int64_t elementBytes, int64_t workers);

/// Bytes of nn.attention_grad's: for each worker, a block of scores and one of
/// their gradients, and one value per query row in it.
int64_t attentionGradWorkspace(int64_t elementBytes, int64_t workers);

/// Bytes of nn.cross_entropy's: a float64 per row.
int64_t crossEntropyWorkspace(int64_t rows);

/// Rows of logits that nn.linear_cross_entropy holds at a time: as many as fit
/// 64 MiB, a multiple of 64 and at least 64, so that the weight gradient is not
/// passed over too often.
int64_t linearCrossEntropyChunk(int64_t rows, int64_t classes,
                                int64_t elementBytes);

/// Bytes of nn.linear_cross_entropy's: a chunk of logits, and a float64 per
/// row.
int64_t linearCrossEntropyWorkspace(int64_t rows, int64_t classes,
                                    int64_t elementBytes);

} // namespace shardc::step

#endif
