// Parts of a product's operands.
#include "runtime/cuda/products/SplitProduct.h"

#include "runtime/base/DType.h"
#include "runtime/cuda/products/Tuning.h"

namespace shardc::runtime::cuda {
namespace {

constexpr int64_t accessBytes = 16;

/// Rows or columns [first, first + count) of a matrix as it is behind the
/// transposition.
entry::Matrix part(entry::Matrix matrix, bool isTransposed, bool ofRows,
                   int64_t first, int64_t count) {
  if (!matrix.tensor)
    return matrix;
  int64_t step = ofRows != isTransposed ? matrix.stride : 1;
  matrix.tensor.data +=
      first * step * int64_t(elementSize(matrix.tensor.dtype));
  (ofRows ? matrix.rows : matrix.columns) = count;
  return matrix;
}

/// What does not fill an access, of `size` elements that lie side by side.
int64_t restOf(int64_t size, plan::DType dtype) {
  return size % (accessBytes / int64_t(elementSize(dtype)));
}

entry::Gemm ofRows(entry::Gemm entry, int64_t first, int64_t count) {
  entry.a = part(entry.a, entry.transposeA, true, first, count);
  entry.c = part(entry.c, false, true, first, count);
  entry.residual = part(entry.residual, false, true, first, count);
  return entry;
}

entry::Gemm ofColumns(entry::Gemm entry, int64_t first, int64_t count) {
  entry.b = part(entry.b, entry.transposeB, false, first, count);
  entry.c = part(entry.c, false, false, first, count);
  entry.residual = part(entry.residual, false, false, first, count);
  if (entry.bias) {
    entry.bias.data += first * int64_t(elementSize(entry.bias.dtype));
    entry.bias.shape = {count};
  }
  return entry;
}

entry::Gemm ofSums(entry::Gemm entry, int64_t first, int64_t count) {
  entry.a = part(entry.a, entry.transposeA, false, first, count);
  entry.b = part(entry.b, entry.transposeB, true, first, count);
  return entry;
}

} // namespace

std::optional<std::pair<entry::Gemm, entry::Gemm>>
splitProduct(const entry::Gemm &entry, double leastFlops) {
  const entry::Matrix &a = entry.a, &b = entry.b, &c = entry.c;
  plan::DType dtype = a.tensor.dtype;
  double flops = 2.0 * double(c.batch) * double(c.rows) * double(c.columns) *
                 double(a.columns);
  if (elementSize(dtype) != 2 || entry.biasGradient || flops < leastFlops)
    return std::nullopt;
  // Where rows begin between such accesses there is nothing to win.
  for (const entry::Matrix *matrix : {&a, &b, &c, &entry.residual})
    if (matrix->tensor && (alignmentOf(*matrix) % accessBytes != 0 ||
                           restOf(matrix->stride, matrix->tensor.dtype) != 0))
      return std::nullopt;
  auto cut = [](const auto &take, int64_t size, int64_t rest) {
    return std::pair(take(0, size - rest), take(size - rest, rest));
  };
  int64_t rest = restOf(c.columns, entry.transposeB ? c.tensor.dtype : dtype);
  if (rest > 0 && rest < c.columns)
    return cut([&](int64_t first,
                   int64_t count) { return ofColumns(entry, first, count); },
               c.columns, rest);
  rest = restOf(c.rows, dtype);
  if (entry.transposeA && rest > 0 && rest < c.rows)
    return cut([&](int64_t first,
                   int64_t count) { return ofRows(entry, first, count); },
               c.rows, rest);
  rest = restOf(a.columns, dtype);
  // What is there already would be rounded once more.
  bool isPlain = !entry.accumulate && !entry.residual.tensor && !entry.bias;
  bool isSideBySide = !entry.transposeA || entry.transposeB;
  if (isSideBySide && rest > 0 && rest < a.columns &&
      (isPlain || elementSize(c.tensor.dtype) > 2)) {
    entry::Gemm first = ofSums(entry, a.columns - rest, rest),
                second = ofSums(entry, 0, a.columns - rest);
    second.bias = {}, second.residual = {}, second.accumulate = true;
    return std::pair(std::move(first), std::move(second));
  }
  return std::nullopt;
}

} // namespace shardc::runtime::cuda
