// Search for the shortest slice into which a unit's parameters fit without a
// boundary inside a row.
#include "passes/units/FlatLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

using namespace shardc;

FlatItem FlatItem::of(llvm::ArrayRef<int64_t> shape) {
  FlatItem item{1, 1};
  for (auto [dim, size] : llvm::enumerate(shape)) {
    item.elements *= size;
    if (dim > 0)
      item.row *= size;
  }
  item.row = std::max<int64_t>(item.row, 1);
  return item;
}

namespace {

/// Elements to which items and slices are aligned where that costs little: 64
/// bytes of float32, a cache line and the widest vector.
constexpr int64_t cheapAlignment = 16;

/// What offsets and slices are multiples of: `wanted` where rows allow it,
/// `required` always. The first is a multiple of the second.
struct Alignment {
  int64_t wanted, required;
};

int64_t divideCeil(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t alignTo(int64_t value, int64_t align) {
  return divideCeil(value, align) * align;
}

/// Smallest offset >= `from` and congruent to `boundary` modulo `row` (so that
/// whole rows end at `boundary`); a multiple of what is wanted, else of what is
/// required, where there is one.
int64_t alignRows(int64_t from, int64_t boundary, int64_t row,
                  Alignment align) {
  int64_t distance = (boundary - from) % row;
  int64_t offset = from + (distance + row) % row;
  for (int64_t multiple : {align.wanted, align.required})
    for (int64_t candidate = offset, step = 0; step < multiple;
         ++step, candidate += row)
      if (candidate % multiple == 0)
        return candidate;
  return offset;
}

/// First offset >= `cursor` at which `item` can lie, or nullopt where no offset
/// serves with this slice.
std::optional<int64_t> place(int64_t cursor, FlatItem item, int64_t slice,
                             Alignment align) {
  int64_t offset = alignTo(cursor, align.wanted);
  // Past the first boundary the picture repeats, up to alignment: two more
  // tries see every case.
  for (int attempt = 0; attempt < 3; ++attempt) {
    int64_t boundary = (offset / slice + 1) * slice;
    if (boundary >= offset + item.elements)
      return offset;
    int64_t shifted = alignRows(offset, boundary, item.row, align);
    if (shifted < boundary && shifted % align.required == 0 &&
        !cutsRow(shifted, item, slice))
      return shifted;
    offset = alignTo(boundary, align.wanted);
  }
  return std::nullopt;
}

/// Greedy placement in `order`; fills `offsets` and returns the end, or nullopt
/// where the slice is impossible.
std::optional<int64_t> placeAll(llvm::ArrayRef<FlatItem> items,
                                llvm::ArrayRef<int64_t> order, int64_t slice,
                                Alignment align,
                                llvm::SmallVectorImpl<int64_t> &offsets) {
  offsets.clear();
  int64_t end = 0;
  for (int64_t index : order) {
    std::optional<int64_t> offset = place(end, items[index], slice, align);
    if (!offset)
      return std::nullopt;
    offsets.push_back(*offset);
    end = *offset + items[index].elements;
  }
  return end;
}

/// Smallest slice >= `from` that has whole rows of every item certain to span
/// two boundaries: those of more than two slices.
int64_t nextSlice(llvm::ArrayRef<FlatItem> items, int64_t from, int64_t align,
                  int64_t limit) {
  while (true) {
    int64_t multiple = align;
    // Where a slice grows to half an item, that item stops to count.
    int64_t change = limit;
    for (FlatItem item : items) {
      if (item.elements <= 2 * from)
        continue;
      change = std::min(change, divideCeil(item.elements, 2));
      if (multiple < limit)
        multiple = std::lcm(multiple, item.row);
    }
    int64_t slice = alignTo(from, multiple);
    if (slice <= change || change == limit)
      return slice;
    from = change;
  }
}

FlatLayout search(llvm::ArrayRef<FlatItem> items, llvm::ArrayRef<int64_t> order,
                  int64_t slices, Alignment align) {
  int64_t total = 0, longestRow = 1, packed = 0;
  for (int64_t index : order) {
    total += items[index].elements;
    longestRow =
        std::max(longestRow, items[index].elements > 0 ? items[index].row : 1);
    packed = alignTo(packed, align.wanted) + items[index].elements;
  }
  FlatLayout layout;
  layout.order.assign(order.begin(), order.end());
  layout.slices = slices;
  // No item lies before where it lies in one slice, which is `packed`. A slice
  // that holds everything always serves, so the search ends.
  int64_t limit = std::max(alignTo(packed, align.wanted), align.wanted);
  int64_t slice =
      std::max<int64_t>({divideCeil(packed, slices), longestRow, 1});
  // Steps of one alignment find the least padding; they grow when that takes
  // long.
  int64_t tries = 0,
          budget = std::max<int64_t>(
              1024, 1'000'000 / std::max<int64_t>(items.size(), 1)),
          step = 1;
  while (true) {
    slice = std::min(nextSlice(items, slice, align.wanted, limit), limit);
    std::optional<int64_t> end =
        placeAll(items, order, slice, align, layout.offsets);
    if (end && *end <= slice * slices)
      break;
    if (++tries % budget == 0)
      step *= 2;
    slice += step;
  }
  layout.slice = slice;
  layout.padding = layout.elements() - total;
  return layout;
}

FlatLayout bestOrder(llvm::ArrayRef<FlatItem> items, int64_t slices,
                     Alignment align) {
  llvm::SmallVector<int64_t> given(items.size());
  std::iota(given.begin(), given.end(), 0);
  llvm::SmallVector<int64_t> byRow(given), bySize(given);
  // Equal items keep the order in which they were given.
  llvm::sort(byRow, [&](int64_t a, int64_t b) {
    return std::tuple(-items[a].row, -items[a].elements, a) <
           std::tuple(-items[b].row, -items[b].elements, b);
  });
  llvm::sort(bySize, [&](int64_t a, int64_t b) {
    return std::pair(-items[a].elements, a) < std::pair(-items[b].elements, b);
  });
  FlatLayout best = search(items, byRow, slices, align);
  for (llvm::ArrayRef<int64_t> order :
       {llvm::ArrayRef<int64_t>(bySize), llvm::ArrayRef<int64_t>(given)}) {
    FlatLayout layout = search(items, order, slices, align);
    if (layout.slice < best.slice)
      best = std::move(layout);
  }
  return best;
}

} // namespace

FlatLayout shardc::layOutFlat(llvm::ArrayRef<FlatItem> items, int64_t slices,
                              int64_t required) {
  FlatLayout dense = bestOrder(items, slices, {required, required});
  FlatLayout aligned =
      bestOrder(items, slices, {std::lcm(cheapAlignment, required), required});
  return aligned.elements() - dense.elements() <= dense.elements() / 200
             ? aligned
             : dense;
}
