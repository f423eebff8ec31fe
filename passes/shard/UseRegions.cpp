// Uses of one unit that follow each other are a run; regions part runs.
#include "passes/shard/UseRegions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace shardc::fsdp {

namespace {
struct Run {
  UnitOp unit;
  PhaseKind phase;
  SmallVector<Operation *> ops;

  std::pair<Operation *, int> key() { return {unit, static_cast<int>(phase)}; }
};
} // namespace

UseRegions::UseRegions(ArrayRef<UnitUse> uses) {
  SmallVector<Run> runs;
  for (const UnitUse &use : uses) {
    if (runs.empty() || runs.back().unit != use.unit ||
        runs.back().phase != use.phase)
      runs.push_back({use.unit, use.phase, {}});
    runs.back().ops.push_back(use.op);
  }
  using Key = std::pair<Operation *, int>;
  llvm::DenseMap<Key, std::pair<size_t, size_t>> ends; // first and last run
  for (auto [index, run] : llvm::enumerate(runs)) {
    auto [place, isNew] = ends.try_emplace(run.key(), index, index);
    place->second.second = index;
  }
  llvm::DenseMap<Key, std::pair<size_t, int>> before; // run, its region
  for (auto [index, run] : llvm::enumerate(runs)) {
    auto [place, isNew] = before.try_emplace(run.key(), index, 0);
    auto &[last, region] = place->second;
    if (!isNew && run.unit.getReshard() != 1) {
      llvm::SmallPtrSet<Operation *, 2> others; // used elsewhere, too
      for (size_t between = last + 1; between < index && others.size() < 2;
           ++between) {
        if (runs[between].phase != run.phase)
          continue;
        auto [from, to] = ends.lookup(runs[between].key());
        if (from < last || to > index)
          others.insert(runs[between].unit);
      }
      if (others.size() == 2)
        ++region;
    }
    last = index;
    if (region > 0)
      for (Operation *op : run.ops)
        regions[{run.unit, op}] = region;
  }
}

} // namespace shardc::fsdp
