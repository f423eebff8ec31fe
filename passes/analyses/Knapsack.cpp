// Dynamic programming over the room (Bellman, 1957), against what is simple.
#include "passes/analyses/Knapsack.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace shardc {

namespace {

using Items = std::vector<double>;

double sumOf(const Items &amounts, const std::vector<bool> &taken) {
  double sum = 0;
  for (size_t i = 0; i < amounts.size(); ++i)
    sum += taken[i] ? amounts[i] : 0;
  return sum;
}

/// Adds what still fits.
void addInOrder(const Items &sizes, const Items &worths, double room,
                std::vector<bool> &taken) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return worths[a] * sizes[b] > worths[b] * sizes[a];
  });
  double left = room * (1 + 1e-12) - sumOf(sizes, taken);
  for (size_t item : order)
    if (!taken[item] && worths[item] > 0 && sizes[item] <= left) {
      left -= std::max(sizes[item], 0.0);
      taken[item] = true;
    }
}

/// `rounded`: up, so that all that is taken fits, or to the nearest cell, which
/// loses nothing where it fits.
std::vector<bool> packByTable(const Items &sizes, const Items &worths,
                              double room, double (*rounded)(double)) {
  // Where there are hundreds of items, they are small beside the room.
  constexpr int64_t cells = 4096, mostItems = 1024;
  std::vector<bool> taken(sizes.size());
  if (sizes.size() > mostItems)
    return taken;
  // From the last item on, so that of equals the first are taken.
  std::vector<double> most(cells + 1);
  std::vector<std::vector<bool>> takes(sizes.size());
  std::vector<int64_t> widths(sizes.size());
  for (size_t item = sizes.size(); item-- > 0;) {
    double width = rounded(std::max(sizes[item], 0.0) / room * cells);
    widths[item] = width > cells ? cells + 1 : static_cast<int64_t>(width);
    takes[item].assign(cells + 1, false);
    for (int64_t cell = cells; cell >= widths[item]; --cell)
      if (double with = most[cell - widths[item]] + worths[item];
          with >= most[cell] && worths[item] > 0) {
        most[cell] = with;
        takes[item][cell] = true;
      }
  }
  int64_t cell = cells;
  for (size_t item = 0; item < sizes.size(); ++item)
    if (takes[item][cell]) {
      taken[item] = true;
      cell -= widths[item];
    }
  return taken;
}

} // namespace

std::vector<bool> packKnapsack(const std::vector<double> &sizes,
                               const std::vector<double> &worths, double room) {
  std::vector<bool> simple(sizes.size());
  addInOrder(sizes, worths, room, simple);
  if (room <= 0)
    return simple;
  std::vector<bool> best = std::move(simple);
  for (auto rounded : {+[](double cells) { return std::ceil(cells - 1e-9); },
                       +[](double cells) { return std::round(cells); }}) {
    std::vector<bool> packed = packByTable(sizes, worths, room, rounded);
    if (sumOf(sizes, packed) > room * (1 + 1e-12))
      continue;
    addInOrder(sizes, worths, room, packed);
    if (sumOf(worths, packed) > sumOf(worths, best))
      best = std::move(packed);
  }
  return best;
}

} // namespace shardc
