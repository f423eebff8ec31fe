// The terms and results of reductions.
#include "codegen/kernels/ReductionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace shardc::kernels {

SmallVector<Value> ReductionEmitter::neutral(ArrayRef<unsigned> reductions,
                                             unsigned copies) {
  SmallVector<Value> accumulators;
  for (unsigned reduction : reductions)
    for (const Combiner &combiner : combiners[reduction])
      accumulators.append(
          copies, vectors.broadcast(loc, arith::ConstantOp::create(
                                             builder, loc, combiner.neutral)));
  return accumulators;
}

LogicalResult ReductionEmitter::accumulate(unsigned reduction,
                                           MutableArrayRef<Value> accumulators,
                                           Value mask) {
  linalg::GenericOp generic = nest.reductions[reduction];
  FailureOr<IRMapping> body =
      elements.emitBody(generic, nest.reductionIteration(generic));
  if (failed(body))
    return failure();
  for (auto [combiner, accumulator] :
       llvm::zip_equal(combiners[reduction], accumulators)) {
    Value sum;
    auto product = combiner.term.getDefiningOp<arith::MulFOp>();
    Value lhs = product ? body->lookupOrNull(product.getLhs()) : Value();
    Value rhs = product ? body->lookupOrNull(product.getRhs()) : Value();
    if (isa<arith::AddFOp>(combiner.op) && lhs && rhs && product->hasOneUse() &&
        vectors.fusesMultiplyAdd()) {
      sum = vectors.multiplyAdd(loc, lhs, rhs, accumulator);
    } else {
      Value term = body->lookupOrNull(combiner.term);
      if (!term)
        return failure();
      sum =
          combine(vectors, combiner, accumulator, vectors.broadcast(loc, term));
    }
    accumulator = mask ? Value(arith::SelectOp::create(builder, loc, mask, sum,
                                                       accumulator))
                       : sum;
  }
  return success();
}

FailureOr<Value> ReductionEmitter::withInitial(unsigned reduction,
                                               unsigned result, Value value) {
  linalg::GenericOp generic = nest.reductions[reduction];
  const Combiner &combiner = combiners[reduction][result];
  Value initial = generic.getDpsInits()[result];
  if (auto fill = initial.getDefiningOp<linalg::FillOp>()) {
    auto constant = fill.getInputs()[0].getDefiningOp<arith::ConstantOp>();
    bool isZero =
        constant && (matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) ||
                     matchPattern(fill.getInputs()[0], m_Zero()));
    bool adds = isa<arith::AddFOp, arith::AddIOp>(combiner.op);
    if (constant &&
        (constant.getValue() == combiner.neutral || (adds && isZero)))
      return value;
  }
  bool perRow = nest.kind == LoopNest::Kind::Rows;
  FailureOr<Value> start =
      elements.emit({initial, nest.outputIndex(initial, perRow)});
  if (failed(start))
    return failure();
  return combine(vectors, combiner, *start, value);
}

} // namespace shardc::kernels
