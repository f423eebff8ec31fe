// Reductions over dims.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult verifyReduction(Op op) {
  if (failed(expectDistinctAxes(op, "dims", op.getDims(),
                                tensorType(op.getInput()).getRank())))
    return failure();
  SmallVector<int64_t> expected(shapeOf(op.getInput()));
  for (int64_t dim : op.getDims())
    expected[dim] = 1;
  return expectType(op, "result", op.getResult(), expected,
                    elementTypeOf(op.getInput()));
}

LogicalResult ReduceSumOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceMeanOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceMaxOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceMinOp::verify() { return verifyReduction(*this); }
LogicalResult ReduceProdOp::verify() { return verifyReduction(*this); }

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

/// A reduction over dims of size 1 is its input. (With dims of size 0 the types
/// differ.)
template <typename Op> static OpFoldResult foldReduction(Op op) {
  return op.getInput().getType() == op.getResult().getType()
             ? OpFoldResult(op.getInput())
             : OpFoldResult();
}

OpFoldResult ReduceSumOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMeanOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMaxOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMinOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceProdOp::fold(FoldAdaptor) { return foldReduction(*this); }
