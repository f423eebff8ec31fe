// Tensors of a unit, checked one by one.
#include "passes/fsdp/Verification.h"

#include "frontend/nn/NN.h"

using namespace mlir;

namespace shardc::fsdp {

LogicalResult verifyPerParameter(Operation *op, FlatSymbolRefAttr name,
                                 TypeRange types, StringRef what,
                                 SymbolTableCollection &symbolTable,
                                 bool gradients) {
  UnitOp unit = lookUp<UnitOp>(op, name, symbolTable);
  if (!unit)
    return failure();
  if (types.size() != unit.getParameters().size()) {
    InFlightDiagnostic error = op->emitOpError("expects ")
                               << unit.getParameters().size()
                               << " tensors, one per parameter of " << name
                               << ", got " << types.size();
    error.attachNote(unit.getLoc()) << "the unit is here";
    return error;
  }
  for (auto [index, type, expected] :
       llvm::enumerate(types, unit.getParameterTypes(symbolTable))) {
    if (gradients && expected)
      expected = cast<RankedTensorType>(expected).clone(unit.getGradientType());
    if (type != expected)
      return op->emitOpError("expects ")
             << what << " " << index << " (of " << unit.getParameters()[index]
             << ") to be " << expected << ", got " << type;
  }
  return success();
}

LogicalResult verifyFlat(Operation *op, Type type, RankedTensorType expected,
                         StringRef what) {
  if (type != expected)
    return op->emitOpError("expects ")
           << what << " to be " << expected << ", got " << type;
  return success();
}

} // namespace shardc::fsdp
