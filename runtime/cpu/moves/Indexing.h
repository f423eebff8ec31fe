// Copies between layouts, and reads and writes at positions known at run time.
// Their semantics are in frontend/nn/ops/Indexing.td.
#ifndef SHARDC_RUNTIME_CPU_MOVES_INDEXING_H
#define SHARDC_RUNTIME_CPU_MOVES_INDEXING_H

#include "runtime/base/Tensor.h"

#include <cstdint>

namespace shardc::runtime {
class ThreadPool;
}

namespace shardc::runtime::cpu {

/// Copies a tensor to one of equal shape and type. Both may have any strides;
/// they do not overlap.
void copy(const Tensor &source, const Tensor &destination, ThreadPool &pool);
void fill(const Tensor &destination, double value, ThreadPool &pool);

/// Computes output[..., :] = table[ids[...], :]. An id outside the table throws
/// an Error that names its position.
void embedding(const Tensor &table, const Tensor &ids, const Tensor &output,
               ThreadPool &pool);
/// Sets tableGradient to 0 unless `accumulate`, then adds rows of `gradient` at
/// `ids`, in the order of the ids. Rows of 16 bits are added in float32, which
/// the table keeps, or rounds once to their type.
void embeddingGrad(const Tensor &gradient, const Tensor &ids,
                   const Tensor &tableGradient, ThreadPool &pool,
                   bool accumulate = false);
/// The same with positions in as many equal parts, each of which is added up on
/// its own, and then to the table, which has the type of sums.
void embeddingGradOfParts(const Tensor &gradient, const Tensor &ids,
                          int64_t parts, const Tensor &tableGradient,
                          ThreadPool &pool, bool accumulate);

// The functions that entry::IndexCall names. Tensors are contiguous, and small,
// so that one thread does the work. Indices are int64 or int32, negative ones
// count from the end; one outside the axis throws an Error.
void cumsum(const Tensor &input, const Tensor &result, int64_t axis,
            bool exclusive, bool reverse);
void gather(const Tensor &data, const Tensor &indices, const Tensor &result,
            int64_t axis);
void gatherGrad(const Tensor &gradient, const Tensor &indices,
                const Tensor &result, int64_t axis);
void gatherNd(const Tensor &data, const Tensor &indices, const Tensor &result,
              int64_t batchDims);

} // namespace shardc::runtime::cpu

#endif
