// Layout of a unit's flat buffer: parameters one after the other, cut into
// equal slices at rows, so that no copy is needed. Knows sizes only; nothing of
// MLIR.
#ifndef SHARDC_PASSES_UNITS_FLATLAYOUT_H
#define SHARDC_PASSES_UNITS_FLATLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace shardc {

/// What the layout needs to know of a tensor. A row is what one index of dim 0
/// selects: the product of the other dims (1 for tensors of one or no dim).
struct FlatItem {
  int64_t elements = 0;
  int64_t row = 1;

  static FlatItem of(llvm::ArrayRef<int64_t> shape);
};

/// Where the items lie, in elements.
struct FlatLayout {
  /// Items (indices into the list given) in the order in which they lie, and
  /// the first element of each: ascending.
  llvm::SmallVector<int64_t> order;
  llvm::SmallVector<int64_t> offsets;
  int64_t slice = 0;  // elements of one of the equal slices
  int64_t slices = 1; // how many there are
  int64_t padding = 0;

  int64_t elements() const { return slice * slices; }
};

/// Whether a slice boundary (a multiple of `slice`) falls strictly inside a row
/// of an item that begins at `offset`. Looks at two boundaries at most: all
/// others are congruent to them.
constexpr bool cutsRow(int64_t offset, FlatItem item, int64_t slice) {
  int64_t boundary = (offset / slice + 1) * slice;
  int64_t end = offset + item.elements;
  if (boundary >= end)
    return false;
  if ((boundary - offset) % item.row != 0)
    return true;
  return boundary + slice < end && slice % item.row != 0;
}

/// Lays `items` out over `slices` (>= 1) equal slices so that no boundary cuts
/// a row. The slice is the smallest that a greedy placement fills in one of a
/// few orders (long rows first, large items first, as given); it is never
/// shorter than the longest row. Items start at multiples of 16 elements (64
/// bytes of float32), and so do slices, where that costs at most 0.5 % of the
/// buffer, and at multiples of `required` (>= 1) elements whatever it costs.
/// Time does not depend on the number of elements or slices.
///
/// A boundary can be moved by padding before an item, but an item that spans
/// several needs a slice of whole rows: that is the whole of the padding in
/// large units, below slices * (longest row), or slices * (least common
/// multiple of the rows) where several such items have different rows.
FlatLayout layOutFlat(llvm::ArrayRef<FlatItem> items, int64_t slices,
                      int64_t required = 1);

} // namespace shardc

#endif
