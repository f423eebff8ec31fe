// Binding of compute entries: checks that they share. One function per kind of
// entry.
#ifndef SHARDC_RUNTIME_CPU_BIND_H
#define SHARDC_RUNTIME_CPU_BIND_H

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/cpu/NarrowRows.h"
#include "runtime/engine/RankState.h"

#include <algorithm>

namespace shardc::runtime::cpu {

Task bind(RankState &state, const plan::Launch &entry);
Task bind(RankState &state, const plan::Gemm &entry);
Task bind(RankState &state, const plan::Attention &entry);
Task bind(RankState &state, const plan::AttentionGrad &entry);
Task bind(RankState &state, const plan::CrossEntropy &entry);
Task bind(RankState &state, const plan::LinearCrossEntropy &entry);
Task bind(RankState &state, const plan::Embedding &entry);
Task bind(RankState &state, const plan::EmbeddingGrad &entry);
Task bind(RankState &state, const plan::Copy &entry);
Task bind(RankState &state, const plan::Fill &entry);
Task bind(RankState &state, const plan::HostCall &entry);
Task bind(RankState &state, const plan::GradientNorm &entry);
Task bind(RankState &state, const plan::Accumulate &entry);
Task bind(RankState &state, const plan::OptimizerStep &entry);

/// A field of an entry, resolved: bindField(state, entry, query) declares
/// `query`; an absent one is an empty Tensor.
#define SHARDC_BIND_FIELD(state, entry, field)                                 \
  ((entry).has_##field() ? (state).resolve((entry).field(), #field)            \
                         : ::shardc::runtime::Tensor())

inline void requireFloat(const Tensor &tensor, const char *name) {
  if (!isFloat(tensor.dtype))
    fail("expects ", name, " to be float32, float64, bfloat16 or float16, got ",
         tensor.describe());
}
inline void requireDtype(const Tensor &tensor, plan::DType dtype,
                         const char *name) {
  if (tensor.dtype != dtype)
    fail("expects ", name, " to be ", dtypeName(dtype), ", got ",
         tensor.describe());
}
/// A result of elements of type `dtype`: of the same type, or as summed.
inline void requireDtypeOrWider(const Tensor &tensor, plan::DType dtype,
                                const char *name) {
  if (tensor.dtype != dtype && tensor.dtype != computeDtype(dtype))
    fail("expects ", name, " to be ", dtypeName(dtype), " or ",
         dtypeName(computeDtype(dtype)), ", got ", tensor.describe());
}
inline void requireInteger(const Tensor &tensor, const char *name) {
  if (tensor.dtype != plan::INT64 && tensor.dtype != plan::INT32)
    fail("expects ", name, " to be int64 or int32, got ", tensor.describe());
}
inline void requireShape(const Tensor &tensor,
                         const std::vector<int64_t> &shape, const char *name) {
  if (tensor.shape == shape)
    return;
  Tensor expected;
  expected.dtype = tensor.dtype;
  expected.shape = shape;
  fail("expects ", name, " to be ", expected.describe(), ", got ",
       tensor.describe());
}
inline void requireRank(const Tensor &tensor, int64_t rank, const char *name) {
  if (tensor.rank() != rank)
    fail("expects ", name, " to have ", rank, " dims, got ", tensor.describe());
}
inline void requireContiguous(const Tensor &tensor, const char *name) {
  if (!tensor.contiguous())
    fail("expects ", name, " ", tensor.describe(), " to be contiguous");
}
inline void requireContiguousRows(const Tensor &tensor, const char *name) {
  if (tensor.rank() == 0 ||
      (tensor.shape.back() > 1 && tensor.strides.back() != 1))
    fail("expects the last dim of ", name, " ", tensor.describe(),
         " to be contiguous");
}
/// Leading dims that one stride walks.
inline void requireFoldable(const Tensor &tensor, const char *name) {
  requireContiguousRows(tensor, name);
  if (!foldRows(tensor, 1))
    fail("expects the rows of ", name, " ", tensor.describe(),
         " to be evenly spaced");
}
inline void requireScalar(const Tensor &tensor, const char *name) {
  if (!tensor || tensor.elements() != 1)
    fail("expects ", name, " to have one element, got ", tensor.describe());
}
inline void requireBytes(const Tensor &tensor, int64_t bytes,
                         const char *name) {
  int64_t has =
      tensor ? tensor.elements() * int64_t(elementSize(tensor.dtype)) : 0;
  if (has < bytes || (tensor && !tensor.contiguous()))
    fail("expects ", name, " of at least ", bytes, " contiguous bytes, got ",
         has);
}

/// As many threads as there are slices in the workspace.
inline int workersFor(const RankState &state, const Tensor &workspace,
                      int64_t slice) {
  requireBytes(workspace, slice, "workspace");
  return static_cast<int>(std::min<int64_t>(
      state.pool.workers(),
      workspace.elements() * int64_t(elementSize(workspace.dtype)) / slice));
}

} // namespace shardc::runtime::cpu

#endif
