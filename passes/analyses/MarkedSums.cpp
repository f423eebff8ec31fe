// Ops of two functions that were imported from one file are the same where the
// node, the kind of op, and how many of that kind the node has are.
#include "passes/analyses/MarkedSums.h"

#include "frontend/nn/Attributes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc {
namespace {

using Key = std::pair<Attribute, Attribute>;

Key keyOf(Operation &op) { return {op.getLoc(), op.getName().getIdentifier()}; }

/// The ops of `from` in `to`; null where their numbers differ.
class Counterparts {
public:
  Counterparts(func::FuncOp from, func::FuncOp to) {
    for (Operation &op : from.front())
      of[keyOf(op)].push_back(&op);
    for (Operation &op : to.front())
      there[keyOf(op)].push_back(&op);
  }

  Operation *find(Operation *op) const {
    ArrayRef<Operation *> same = of.find(keyOf(*op))->second;
    auto others = there.find(keyOf(*op));
    return others != there.end() && others->second.size() == same.size()
               ? others->second[llvm::find(same, op) - same.begin()]
               : nullptr;
  }

private:
  llvm::DenseMap<Key, SmallVector<Operation *, 1>> of, there;
};

void mark(Operation *op, const SampleSums::Use &use, double factor) {
  Builder builder(op->getContext());
  SmallVector<NamedAttribute> marks{
      builder.getNamedAttr("factor", builder.getF64FloatAttr(factor))};
  if (use.meetsSamples)
    marks.push_back(
        builder.getNamedAttr("meets_samples", builder.getUnitAttr()));
  if (use.isStatistic)
    marks.push_back(builder.getNamedAttr("statistic", builder.getUnitAttr()));
  op->setAttr(nn::sampleSumAttr, builder.getDictionaryAttr(marks));
}

void setUnit(Operation *op, StringRef name) {
  op->setAttr(name, UnitAttr::get(op->getContext()));
}

} // namespace

/// Half of a quotient is worse than none: sums are taken over all ranks
/// together, or not at all.
static void mark(func::FuncOp function, ArrayRef<SampleSums::Use> uses,
                 ArrayRef<Operation *> ops, ArrayRef<double> factors) {
  const bool isKnown =
      !llvm::is_contained(ops, nullptr) &&
      llvm::none_of(factors, [](double factor) { return factor == 0; });
  for (auto [use, op, factor] : llvm::zip_equal(uses, ops, factors))
    if (op)
      mark(op, use, isKnown ? factor : 0);
    else
      setUnit(function, nn::lostSumAttr);
}

void markSums(func::FuncOp function, const SampleSums &found) {
  for (const SampleSums::Use &use : found.uses())
    mark(use.sum, use, 0);
  for (Operation *op : found.mixing())
    setUnit(op, nn::mixesSamplesAttr);
}

void markSums(func::FuncOp function, const SampleSums &doubled,
              const SampleSums &fourfold, int64_t ranks) {
  const std::vector<SampleSums::Use> uses = doubled.uses(),
                                     larger = fourfold.uses();
  const bool isKnown = uses.size() == larger.size() &&
                       doubled.constants() == fourfold.constants();
  std::optional<Counterparts> counterparts;
  auto find = [&](Operation *op) {
    if (!counterparts)
      counterparts.emplace(op->getParentOfType<func::FuncOp>(), function);
    return counterparts->find(op);
  };
  SmallVector<Operation *> ops;
  SmallVector<double> factors;
  for (auto [i, use] : llvm::enumerate(uses)) {
    ops.push_back(find(use.sum));
    factors.push_back(isKnown && !use.isLost ? use.factor(larger[i], ranks)
                                             : 0);
  }
  mark(function, uses, ops, factors);
  for (Operation *op : doubled.mixing()) {
    Operation *here = find(op);
    setUnit(here ? here : function.getOperation(), nn::mixesSamplesAttr);
  }
}

} // namespace shardc
