// Recognition and emission of combiners.
#include "codegen/kernels/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::kernels {

static TypedAttr neutralOf(Operation *op) {
  Type type = op->getResult(0).getType();
  OpBuilder builder(op->getContext());
  // The neutral element of a sum is negative zero, for x + -0 is x for every x.
  auto kind =
      llvm::TypeSwitch<Operation *, std::optional<arith::AtomicRMWKind>>(op)
          .Case([](arith::AddFOp) { return arith::AtomicRMWKind::addf; })
          .Case([](arith::MulFOp) { return arith::AtomicRMWKind::mulf; })
          .Case(
              [](arith::MaximumFOp) { return arith::AtomicRMWKind::maximumf; })
          .Case(
              [](arith::MinimumFOp) { return arith::AtomicRMWKind::minimumf; })
          .Case([](arith::MaxNumFOp) { return arith::AtomicRMWKind::maxnumf; })
          .Case([](arith::MinNumFOp) { return arith::AtomicRMWKind::minnumf; })
          .Case([](arith::AddIOp) { return arith::AtomicRMWKind::addi; })
          .Case([](arith::MulIOp) { return arith::AtomicRMWKind::muli; })
          .Case([](arith::MaxSIOp) { return arith::AtomicRMWKind::maxs; })
          .Case([](arith::MaxUIOp) { return arith::AtomicRMWKind::maxu; })
          .Case([](arith::MinUIOp) { return arith::AtomicRMWKind::minu; })
          .Case([](arith::MinSIOp) { return arith::AtomicRMWKind::mins; })
          .Case([](arith::MaxUIOp) { return arith::AtomicRMWKind::maxu; })
          .Case([](arith::MinUIOp) { return arith::AtomicRMWKind::minu; })
          .Case([](arith::OrIOp) { return arith::AtomicRMWKind::ori; })
          .Case([](arith::AndIOp) { return arith::AtomicRMWKind::andi; })
          .Default([](Operation *) { return std::nullopt; });
  return kind ? arith::getIdentityValueAttr(*kind, type, builder, op->getLoc())
              : TypedAttr();
}

std::optional<SmallVector<Combiner>> combinersOf(linalg::GenericOp reduction) {
  SmallVector<Combiner> combiners;
  Block *body = reduction.getBody();
  for (auto [yielded, accumulator] :
       llvm::zip_equal(body->getTerminator()->getOperands(),
                       reduction.getRegionOutputArgs())) {
    Combiner combiner;
    combiner.op = yielded.getDefiningOp();
    if (!combiner.op || combiner.op->getNumOperands() != 2 ||
        !accumulator.hasOneUse() ||
        !llvm::is_contained(combiner.op->getOperands(), Value(accumulator)))
      return std::nullopt;
    combiner.term = combiner.op->getOperand(
        combiner.op->getOperand(0) == accumulator ? 1 : 0);
    combiner.neutral = neutralOf(combiner.op);
    if (!combiner.neutral)
      return std::nullopt;
    combiners.push_back(combiner);
  }
  return combiners;
}

FailureOr<SmallVector<SmallVector<Combiner>>>
combinersOf(const LoopNest &nest) {
  SmallVector<SmallVector<Combiner>> combiners;
  for (linalg::GenericOp reduction : nest.reductions) {
    auto found = combinersOf(reduction);
    if (!found)
      return reduction.emitError("combines in a way that kernels do not know: "
                                 "expects yield(op(accumulator, term))");
    combiners.push_back(*found);
  }
  return combiners;
}

Value combine(VectorOps &vectors, const Combiner &combiner, Value accumulator,
              Value next) {
  return vectors.clone(combiner.op, {accumulator, next});
}

Value combineLanes(OpBuilder &builder, VectorOps &vectors,
                   const Combiner &combiner, Value vector) {
  Location loc = combiner.op->getLoc();
  while (auto type = dyn_cast<VectorType>(vector.getType())) {
    int64_t half = type.getNumElements() / 2;
    if (half == 1) {
      Value low =
          vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
      Value high =
          vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{1});
      return combine(vectors, combiner, low, high);
    }
    auto part = [&](int64_t start) {
      auto lanes = llvm::to_vector(llvm::seq<int64_t>(start, start + half));
      return Value(
          vector::ShuffleOp::create(builder, loc, vector, vector, lanes));
    };
    Value low = part(0), high = part(half);
    vector = combine(vectors, combiner, low, high);
  }
  return vector;
}

} // namespace shardc::kernels
