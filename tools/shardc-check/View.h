// Where elements lie: strided views, their canonical form and compositions.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_VIEW_H
#define SHARDC_TOOLS_SHARDC_CHECK_VIEW_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardc::check {

struct Dim {
  int64_t size = 0, stride = 0;
  bool operator==(const Dim &) const = default;
};

/// Elements offset + sum of i[d] * stride[d], in row-major order of i. The unit
/// is the user's: elements of an expression, or bytes of a buffer.
struct View {
  int64_t offset = 0;
  std::vector<Dim> dims;

  bool operator==(const View &) const = default;
  int64_t count() const;
  /// From the first element's begin to the last one's: 0 for one element.
  int64_t reach() const;
  /// The same elements in the same order, written in one way only: without dims
  /// of one element, and without dims that are one with the next.
  View canonical() const;
  std::string text() const;
};

/// The row-major view of a shape.
View rowMajor(const std::vector<int64_t> &shape, int64_t unit = 1);

/// `count` elements of `bytes` each in a row, from element `begin` on.
inline View row(int64_t begin, int64_t count, int64_t bytes) {
  return {begin * bytes, {{count, bytes}}};
}

/// The elements of `of` that `view` names by their row-major number in it.
/// Nothing where they are no strided view.
std::optional<View> compose(const View &of, const View &view);

/// The row-major numbers in `of` of what lies where `places` says. Nothing
/// where some of it is no element of `of`, or is no strided view.
std::optional<View> numbersIn(const View &of, const View &places);

/// Whether no byte is in both; `sizes` are bytes of their elements. A false may
/// be wrong, a true is not.
bool areDisjoint(const View &a, int64_t sizeA, const View &b, int64_t sizeB);

} // namespace shardc::check

#endif
