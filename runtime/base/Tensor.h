// A tensor as the runtime sees it: an address, an element type, a shape and
// strides. Owns nothing.
#ifndef SHARDC_RUNTIME_BASE_TENSOR_H
#define SHARDC_RUNTIME_BASE_TENSOR_H

#include "runtime/plan.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::runtime {

int64_t elementCount(const plan::Tensor &tensor);
int64_t bytesOf(const plan::Tensor &tensor);

struct Tensor {
  std::byte *data = nullptr;
  plan::DType dtype = plan::INVALID;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; // in elements, always of shape's length

  explicit operator bool() const { return data != nullptr; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t elements() const;
  bool contiguous() const;
  /// From the first element to behind the last one; 0 where there is none.
  int64_t spanBytes() const;
  template <typename T> T *as() const { return reinterpret_cast<T *>(data); }
  /// float32 [4, 128, 64]
  std::string describe() const;
};

/// Row-major strides of a shape.
std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &shape);

/// Where the leading dims of a tensor are walked with one stride: `rows` rows
/// of the last `inner` dims.
struct Rows {
  int64_t rows;
  int64_t stride; // elements from row to row
};
/// Folds all dims but the last `inner` ones into rows; none where no single
/// stride walks them.
std::optional<Rows> foldRows(const Tensor &tensor, int64_t inner);

} // namespace shardc::runtime

#endif
