// What ranks agree on within a pass through the model.
#include "passes/fsdp/FSDP.h"

using namespace mlir;
using namespace shardc::fsdp;

LogicalResult
RankSumOp::differentiate(OpBuilder &builder, ValueRange resultGradients,
                         ArrayRef<bool> needed,
                         SmallVectorImpl<Value> &operandGradients) {
  Value gradient = resultGradients[0];
  operandGradients.push_back(
      needed[0] ? Value(create(builder, getLoc(), gradient.getType(), gradient))
                : Value());
  return success();
}
