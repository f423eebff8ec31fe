#include "passes/shard/Reductions.h"

#include "frontend/nn/NN.h"

using namespace mlir;

namespace shardc::fsdp {

LogicalResult Reductions::collect(ArrayRef<UnitOp> units) {
  llvm::DenseMap<StringAttr, Value> gradientOf;
  for (unsigned index = 1; index < function.getNumResults(); ++index)
    if (auto name = function.getResultAttrOfType<FlatSymbolRefAttr>(
            index, nn::gradientOfAttr))
      gradientOf[name.getAttr()] = body.getTerminator()->getOperand(index);
  if (gradientOf.empty())
    return success();
  for (UnitOp unit : units) {
    if (!unit.isTrained())
      continue;
    Reduction &reduction = reductions.emplace_back();
    reduction.unit = unit;
    for (auto name : unit.getParameters().getAsRange<FlatSymbolRefAttr>()) {
      Value gradient = gradientOf.lookup(name.getAttr());
      if (!gradient)
        return function.emitError("expects a result with nn.gradient_of = ")
               << name << ", a parameter of " << unit.getSymName();
      reduction.gradients.push_back(gradient);
      Operation *op = gradient.getDefiningOp();
      if (op && (!reduction.ready || reduction.ready->isBeforeInBlock(op)))
        reduction.ready = op;
      while (auto reshape = dyn_cast_or_null<nn::ReshapeOp>(op))
        op = reshape.getInput().getDefiningOp();
      if (op && (!reduction.first || op->isBeforeInBlock(reduction.first)))
        reduction.first = op;
    }
  }
  return success();
}

void Reductions::addUse(UnitOp unit, Operation *op) {
  for (Reduction &reduction : reductions)
    if (reduction.unit == unit &&
        (!reduction.lastUse || reduction.lastUse->isBeforeInBlock(op)))
      reduction.lastUse = op;
}

/// Whether a reduction that has begun is to end before `next` has gradients:
/// its flat gradient is twice as large, and they are made behind it.
static bool isLarge(Reduction &reduction, Reduction &next) {
  return reduction.unit.getElements() >= 2 * next.unit.getElements() &&
         next.first && reduction.start->isBeforeInBlock(next.first);
}

/// Each unit's reduction begins when its last gradient is there, and is
/// waited for before the next but one begins: two flat gradients are alive,
/// and one is on its way while the next is computed. A large one, of which
/// memory has room for one alone (a head's, when all that backward reads is
/// still there), is waited for before the next one's first gradient.
void Reductions::insert() {
  SmallVector<Reduction *> inOrder;
  for (Reduction &reduction : reductions)
    inOrder.push_back(&reduction);
  auto isReadyBefore = [](Reduction *a, Reduction *b) {
    if (a->ready == b->ready)
      return a < b; // neighbours in one vector: the order of the units
    return !a->ready || (b->ready && a->ready->isBeforeInBlock(b->ready));
  };
  llvm::sort(inOrder, isReadyBefore);
  size_t ended = 0, endedAcross = 0; // in order: all ranks wait alike
  auto endUpTo = [&](size_t count) {
    for (; ended < count; ++ended)
      end(*inOrder[ended]);
  };
  auto endAcrossUpTo = [&](size_t count) {
    for (; endedAcross < count; ++endedAcross)
      endAcross(*inOrder[endedAcross]);
  };
  size_t count = inOrder.size();
  for (auto [index, reduction] : llvm::enumerate(inOrder)) {
    Reduction *previous = index > 0 ? inOrder[index - 1] : nullptr;
    if (previous && isLarge(*previous, *reduction)) {
      builder.setInsertionPoint(reduction->first);
      endUpTo(index);
    }
    Operation *after = reduction->ready;
    if (previous && previous->ready == reduction->ready)
      after = previous->start;
    after ? builder.setInsertionPointAfter(after)
          : builder.setInsertionPointToStart(&body);
    endAcrossUpTo(index >= 4 ? index - 3 : 0);
    endUpTo(index >= 2 ? index - 1 : 0);
    begin(*reduction);
  }
  builder.setInsertionPoint(body.getTerminator());
  for (size_t index = count; index < count + 4; ++index) {
    endAcrossUpTo(index >= 4 ? std::min(index - 3, count) : 0);
    endUpTo(index >= 2 ? std::min(index - 1, count) : 0);
  }
}

Value Reductions::accumulated(Value value, Type accumulator) {
  return AccumulateOp::create(builder, value.getLoc(), value.getType(), value,
                              accumulator);
}

void Reductions::begin(Reduction &reduction) {
  UnitOp unit = reduction.unit;
  Location loc = reduction.ready ? reduction.ready->getLoc() : unit.getLoc();
  auto flat = FlatGradientsOp::create(builder, loc, unit.getFlatGradientType(),
                                      unit.getSymName(), reduction.gradients);
  reduction.start = flat;
  reduction.flat = flat;
  if (accumulatesFlat) {
    reduction.flat =
        accumulated(flat, unit.getFlatGradientType().getElementType());
    reduction.start = reduction.flat.getDefiningOp();
  }
  if (!groups.gradients)
    return;
  StringRef group = groups.gradients.getSymName();
  // The first reduction adds micro-batches up, too, unless they are already.
  if (groups.scattersGradients)
    reduction.start = ReduceScatterStartOp::create(
        builder, loc, token, unit.getSymName(), reduction.flat, group,
        /*last=*/accumulatesFlat, /*accumulated=*/!accumulatesFlat);
  else
    reduction.start = AllReduceGradientsStartOp::create(
        builder, loc, token, unit.getSymName(), reduction.flat, group,
        /*last=*/accumulatesFlat, /*accumulated=*/!accumulatesFlat);
}

/// Waits for a reduction, and begins to reduce it over the outer dimension where
/// there is one to do. What a rank has alone is added to earlier micro-batches.
void Reductions::end(Reduction &reduction) {
  UnitOp unit = reduction.unit;
  Location loc = reduction.start->getLoc();
  if (isa<ReduceScatterStartOp>(reduction.start))
    reduction.flat = ReduceScatterWaitOp::create(
        builder, loc,
        unit.getFlatGradientType(
            static_cast<int64_t>(groups.gradients.getSize())),
        reduction.start->getResult(0));
  else if (isa<AllReduceGradientsStartOp>(reduction.start))
    reduction.flat = AllReduceGradientsWaitOp::create(
        builder, loc, unit.getFlatGradientType(),
        reduction.start->getResult(0));
  if (!accumulatesFlat && !groups.gradients)
    reduction.flat =
        accumulated(reduction.flat,
                    getSumType(unit.getFlatGradientType().getElementType()));
  if (!groups.across)
    return;
  StringRef group = groups.across.getSymName();
  if (groups.scattersAcross)
    reduction.across = ReduceScatterStartOp::create(
        builder, loc, token, unit.getSymName(), reduction.flat, group,
        /*last=*/true, /*accumulated=*/false);
  else
    reduction.across = AllReduceGradientsStartOp::create(
        builder, loc, token, unit.getSymName(), reduction.flat, group,
        /*last=*/true, /*accumulated=*/false);
}

void Reductions::endAcross(Reduction &reduction) {
  UnitOp unit = reduction.unit;
  if (!reduction.across)
    return;
  Location loc = reduction.across->getLoc();
  Value started = reduction.across->getResult(0);
  if (groups.scattersAcross)
    reduction.flat = ReduceScatterWaitOp::create(
        builder, loc,
        unit.getFlatGradientType(
            static_cast<int64_t>(unit.getOptimizerShards())),
        started);
  else
    reduction.flat = AllReduceGradientsWaitOp::create(
        builder, loc, reduction.flat.getType(), started);
}

} // namespace shardc::fsdp
