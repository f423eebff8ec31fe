// Strides and how tensors print.
#include "runtime/base/Tensor.h"

#include "runtime/base/DType.h"
#include "runtime/base/Text.h"

#include <algorithm>

using namespace shardc;
using namespace shardc::runtime;

int64_t runtime::elementCount(const plan::Tensor &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.shape())
    count *= size;
  return count;
}

int64_t runtime::bytesOf(const plan::Tensor &tensor) {
  return elementCount(tensor) *
         static_cast<int64_t>(elementSize(tensor.dtype()));
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool Tensor::contiguous() const {
  int64_t expected = 1;
  for (int64_t dim = rank() - 1; dim >= 0; --dim) {
    if (shape[dim] != 1 && strides[dim] != expected)
      return elements() == 0;
    expected *= shape[dim];
  }
  return true;
}

int64_t Tensor::spanBytes() const {
  if (elements() == 0)
    return 0;
  int64_t last = 0;
  for (int64_t dim = 0; dim < rank(); ++dim)
    last += (shape[dim] - 1) * strides[dim];
  return (last + 1) * int64_t(elementSize(dtype));
}

std::string Tensor::describe() const {
  return std::string(dtypeName(dtype)) + " " + shapeText(shape);
}

std::vector<int64_t>
runtime::rowMajorStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

std::optional<Rows> runtime::foldRows(const Tensor &tensor, int64_t inner) {
  // One row lies as rows of a contiguous tensor would: a stride below a row's
  // length is none that BLAS accepts.
  Rows rows{1, 1};
  for (int64_t dim = std::max<int64_t>(0, tensor.rank() - inner);
       dim < tensor.rank(); ++dim)
    rows.stride *= tensor.shape[dim];
  for (int64_t dim = tensor.rank() - inner - 1; dim >= 0; --dim) {
    int64_t size = tensor.shape[dim];
    if (size == 1)
      continue;
    if (rows.rows == 1)
      rows.stride = tensor.strides[dim];
    else if (tensor.strides[dim] != rows.stride * rows.rows)
      return std::nullopt;
    rows.rows *= size;
  }
  return rows;
}
