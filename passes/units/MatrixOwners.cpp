// Rounds of one shape, and what is left by the ranks' work so far.
#include "passes/units/MatrixOwners.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace shardc {

double matrixCost(MatrixShape shape) {
  double s = double(std::min(shape.rows, shape.columns));
  double l = double(std::max(shape.rows, shape.columns));
  return 4 * s * s * l + 2 * s * s * s;
}

std::vector<int64_t> MatrixOwners::leastLoaded(int64_t count) const {
  std::vector<int64_t> ranks(work.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::partial_sort(ranks.begin(), ranks.begin() + count, ranks.end(),
                    [&](int64_t a, int64_t b) {
                      return std::pair(work[a], a) < std::pair(work[b], b);
                    });
  ranks.resize(count);
  return ranks;
}

MatrixDeal MatrixOwners::deal(llvm::ArrayRef<MatrixShape> matrices) {
  struct Kind {
    MatrixShape shape;
    llvm::SmallVector<size_t> members;
  };
  llvm::SmallVector<Kind> kinds; // in the order in which they come
  for (auto [index, shape] : llvm::enumerate(matrices)) {
    auto kind = llvm::find_if(
        kinds, [&](const Kind &other) { return other.shape == shape; });
    if (kind == kinds.end())
      kind = kinds.insert(kind, {shape, {}});
    kind->members.push_back(index);
  }
  llvm::stable_sort(kinds, [](const Kind &a, const Kind &b) {
    return matrixCost(a.shape) > matrixCost(b.shape);
  });

  MatrixDeal made;
  made.owners.resize(matrices.size());
  made.slots.resize(matrices.size());
  auto ranks = static_cast<int64_t>(work.size());
  for (const Kind &kind : kinds) {
    double cost = matrixCost(kind.shape);
    auto count = static_cast<int64_t>(kind.members.size());
    for (int64_t first = 0; first < count; first += ranks) {
      int64_t slot = made.slotShapes.size();
      made.slotShapes.push_back(kind.shape);
      int64_t round = std::min(ranks, count - first);
      std::vector<int64_t> owners = leastLoaded(round);
      llvm::sort(owners);
      for (int64_t i = 0; i < round; ++i) {
        size_t matrix = kind.members[first + i];
        made.owners[matrix] = owners[i];
        made.slots[matrix] = slot;
        work[owners[i]] += cost;
      }
    }
  }
  return made;
}

} // namespace shardc
