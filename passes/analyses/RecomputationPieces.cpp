// Of two choices of what runs again, one of which takes too long: what lies
// between them, piece by piece.
#include "passes/analyses/SavedValues.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace shardc {

SmallVector<SavedValues::Piece>
SavedValues::piecesBetween(const OpSet &less, const OpSet &more) const {
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
  llvm::DenseMap<Value, Operation *> keptFor; // for the pieces alone
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
  llvm::MapVector<Operation *, Piece> pieces; // by a representative
  for (Operation *op : between) {
    Piece &piece = pieces[together.getLeaderValue(op)];
    piece.ops.push_back(op);
    piece.seconds += time.of(op);
    for (Value result : op->getResults())
      if (isKept(result))
        piece.savedBytes += bytesOf(result);
  }
  for (auto &[value, reader] : keptFor)
    pieces[together.getLeaderValue(reader)].savedBytes -= bytesOf(value);

  SmallVector<Piece> result;
  for (auto &[leader, piece] : pieces)
    if (piece.savedBytes > 0)
      result.push_back(std::move(piece));
  llvm::sort(result, [&](const Piece &a, const Piece &b) {
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
  SmallVector<Piece> taken;
  double left = seconds - secondsOf(less);
  for (Piece &piece : piecesBetween(less, more))
    if (piece.seconds <= left) {
      left -= piece.seconds;
      taken.push_back(std::move(piece));
    }
  // What a piece takes was estimated beside all of `more`.
  OpSet best = less;
  auto fits = [&](size_t count) {
    OpSet ops = less;
    for (const Piece &piece : ArrayRef(taken).take_front(count))
      ops.insert(piece.ops.begin(), piece.ops.end());
    Choice choice = askedFor([&](Operation *op) { return ops.contains(op); });
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

} // namespace shardc
