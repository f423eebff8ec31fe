// Ops that map elements to elements: fold.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/Evaluation.h"
#include "frontend/nn/support/Verification.h"

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Fold
//===----------------------------------------------------------------------===//

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0))
    return getLhs();
  return isSplatOf(adaptor.getLhs(), 0) ? OpFoldResult(getRhs())
                                        : OpFoldResult();
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return isSplatOf(adaptor.getRhs(), 0) ? OpFoldResult(getLhs())
                                        : OpFoldResult();
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1))
    return getLhs();
  return isSplatOf(adaptor.getLhs(), 1) ? OpFoldResult(getRhs())
                                        : OpFoldResult();
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplatOf(adaptor.getRhs(), 1) ? OpFoldResult(getLhs())
                                        : OpFoldResult();
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  if (isSplatOf(adaptor.getCondition(), 1))
    return getLhs();
  return isSplatOf(adaptor.getCondition(), 0) ? OpFoldResult(getRhs())
                                              : OpFoldResult();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return foldMove(adaptor.getInput(), getResult(),
                  [&](const HostTensor &input) {
                    return castTo(input, elementTypeOf(getResult()));
                  });
}
