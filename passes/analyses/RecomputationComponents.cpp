// Between two choices of what runs again, of which one takes too long, more is
// chosen component by component.
#include "passes/analyses/SavedValues.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace shardc {

SmallVector<SavedValues::Component>
SavedValues::componentsBetween(const OpSet &less, const OpSet &more) const {
  llvm::DenseSet<Value> readByLess;
  for (Operation *op : less)
    for (Value operand : op->getOperands())
      readByLess.insert(storageOf(operand));
  auto isKept = [&](Value value) {
    return !isFree(value) && !less.contains(value.getDefiningOp()) &&
           (needs.contains(value) || readByLess.contains(value));
  };

  SmallVector<Operation *> between;
  for (Operation *op : more)
    if (!less.contains(op))
      between.push_back(op);
  llvm::sort(between, [&](Operation *a, Operation *b) {
    return position.lookup(a) < position.lookup(b);
  });
  llvm::DenseSet<Operation *> isBetween(between.begin(), between.end());
  llvm::EquivalenceClasses<Operation *> together;
  llvm::DenseMap<Value, Operation *> keptFor; // for the components alone
  for (Operation *op : between) {
    together.insert(op);
    for (Value operand : op->getOperands()) {
      Value storage = storageOf(operand);
      Operation *producer = storage.getDefiningOp();
      if (isBetween.contains(producer))
        together.unionSets(op, producer);
      else if (!isFree(storage) && !isKept(storage) && !less.contains(producer))
        together.unionSets(op, keptFor.try_emplace(storage, op).first->second);
    }
  }

  RecomputationTime time(more, lastForward, costs);
  llvm::MapVector<Operation *, Component> components; // by a representative
  for (Operation *op : between) {
    Component &component = components[together.getLeaderValue(op)];
    component.ops.push_back(op);
    component.seconds += time.of(op);
    for (Value result : op->getResults())
      if (isKept(result))
        component.savedBytes += bytesOf(result);
  }
  for (auto &[value, reader] : keptFor)
    components[together.getLeaderValue(reader)].savedBytes -= bytesOf(value);

  SmallVector<Component> result;
  for (auto &[leader, component] : components)
    if (component.savedBytes > 0)
      result.push_back(std::move(component));
  llvm::sort(result, [&](const Component &a, const Component &b) {
    double left = static_cast<double>(a.savedBytes) * b.seconds;
    double right = static_cast<double>(b.savedBytes) * a.seconds;
    return left != right ? left > right
                         : position.lookup(a.ops.front()) <
                               position.lookup(b.ops.front());
  });
  return result;
}

OpSet SavedValues::fillUp(const OpSet &less, const OpSet &more,
                          double seconds) const {
  SmallVector<Component> taken;
  double left = seconds - secondsOf(less);
  for (Component &component : componentsBetween(less, more))
    if (component.seconds <= left) {
      left -= component.seconds;
      taken.push_back(std::move(component));
    }
  // The time of a component was estimated beside all of `more`.
  OpSet best = less;
  auto fits = [&](size_t count) {
    OpSet ops = less;
    for (const Component &component : ArrayRef(taken).take_front(count))
      ops.insert(component.ops.begin(), component.ops.end());
    Choice choice =
        requiredOps([&](Operation *op) { return ops.contains(op); });
    if (secondsOf(choice.ops) > seconds || !hasParametersFor(choice))
      return false;
    best = std::move(choice.ops);
    return true;
  };
  if (fits(taken.size()))
    return best;
  size_t most = 0, tooMany = taken.size();
  while (most + 1 < tooMany) {
    size_t middle = most + (tooMany - most) / 2;
    (fits(middle) ? most : tooMany) = middle;
  }
  return best;
}

OpSet SavedValues::fillDown(const OpSet &less, const OpSet &more,
                            int64_t bytes) const {
  SmallVector<Component> components = componentsBetween(less, more);
  auto with = [&](ArrayRef<Component> taken) {
    OpSet ops = less;
    for (const Component &component : taken)
      ops.insert(component.ops.begin(), component.ops.end());
    return requiredOps([&](Operation *op) { return ops.contains(op); });
  };
  auto suffices = [&](ArrayRef<Component> taken) {
    Choice choice = with(taken);
    return bytesKeptWith(choice.ops) <= bytes && hasParametersFor(choice);
  };
  ArrayRef<Component> all(components);
  if (!suffices(all))
    return more;
  size_t tooFew = 0, enough = all.size();
  while (tooFew + 1 < enough) {
    size_t middle = tooFew + (enough - tooFew) / 2;
    (suffices(all.take_front(middle)) ? enough : tooFew) = middle;
  }
  return with(all.take_front(enough)).ops;
}

} // namespace shardc
