// Whole rows of a piece are added up where they are; of the others is noted
// where pieces begin.
#include "runtime/cpu/optimizer/ReducedNorm.h"

#include "runtime/base/DType.h"

#include <algorithm>

namespace shardc::runtime::cpu {

static int64_t endOf(const entry::Rows &rows) {
  return rows.begin + rows.count * rows.width;
}

ReducedNorm::ReducedNorm(const Tensor &gradient,
                         const std::vector<entry::Rows> &rows)
    : gradient(gradient), rows(addedAtOnce(rows)) {}

void ReducedNorm::begin(Norm of) {
  std::lock_guard lock(mutex);
  norm = of;
  whole = PowerSum(of);
  begins.clear();
}

std::vector<entry::Rows>::const_iterator
ReducedNorm::rowsAt(int64_t element) const {
  return std::ranges::upper_bound(rows, element, {}, endOf);
}

void ReducedNorm::read(int64_t begin, std::span<const std::byte> elements) {
  auto size = int64_t(elementSize(gradient.dtype));
  int64_t end = begin + std::ssize(elements) / size;
  PowerSum inPiece(norm);
  for (auto at = rowsAt(begin); at != rows.end() && at->begin < end; ++at) {
    int64_t first =
        std::max<int64_t>(0, begin - at->begin + at->width - 1) / at->width;
    int64_t last = std::min(at->count, (end - at->begin) / at->width);
    if (first < last)
      inPiece.addRows(elements.data() +
                          (at->begin + first * at->width - begin) * size,
                      gradient.dtype, last - first, at->width);
  }
  std::lock_guard lock(mutex);
  whole.add(inPiece);
  begins.push_back(begin);
}

PowerSum ReducedNorm::sum() const {
  std::lock_guard lock(mutex);
  PowerSum total = whole;
  std::vector<int64_t> cuts = begins;
  std::ranges::sort(cuts);
  int64_t added = -1; // the row that was cut last
  for (int64_t cut : cuts) {
    auto at = rowsAt(cut);
    if (at == rows.end() || cut <= at->begin)
      continue;
    int64_t row = cut - (cut - at->begin) % at->width;
    if (row == cut || row == added)
      continue;
    total.addRows(gradient.data + row * int64_t(elementSize(gradient.dtype)),
                  gradient.dtype, 1, at->width);
    added = row;
  }
  return total;
}

} // namespace shardc::runtime::cpu
