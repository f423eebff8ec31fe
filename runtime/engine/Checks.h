// The functions below say what the operands of entries must be. Each throws an
// Error with the operand's name and what it is.
#ifndef SHARDC_RUNTIME_ENGINE_CHECKS_H
#define SHARDC_RUNTIME_ENGINE_CHECKS_H

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Tensor.h"

namespace shardc::runtime {

inline void requireFloat(const Tensor &tensor, const char *name) {
  if (!isFloat(tensor.dtype))
    fail("expects ", name, " to be float32, float64, bfloat16 or float16, got ",
         tensor.describe());
}
inline void requireSummable(const Tensor &tensor, const char *name) {
  if (!isFloat(tensor.dtype) && tensor.dtype != plan::INT64)
    fail("expects ", name, " to be a float or int64, got ", tensor.describe());
  if (!tensor.contiguous())
    fail("expects ", name, " to be contiguous, got ", tensor.describe());
}
inline void requireDtype(const Tensor &tensor, plan::DType dtype,
                         const char *name) {
  if (tensor.dtype != dtype)
    fail("expects ", name, " to be ", dtypeName(dtype), ", got ",
         tensor.describe());
}
/// A result of elements of type `dtype` has the same type, or that of sums.
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
/// The leading dims must be such that one stride walks them.
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

} // namespace shardc::runtime

#endif
