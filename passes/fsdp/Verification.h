// Checks that the fsdp ops have in common. Each emits an error at `op`.
#ifndef SHARDC_PASSES_FSDP_VERIFICATION_H
#define SHARDC_PASSES_FSDP_VERIFICATION_H

#include "passes/fsdp/FSDP.h"

namespace shardc::fsdp {

/// The symbol of that kind that an op names, or null after an error.
template <typename Symbol>
Symbol lookUp(mlir::Operation *op, mlir::FlatSymbolRefAttr name,
              mlir::SymbolTableCollection &symbolTable) {
  auto symbol = symbolTable.lookupNearestSymbolFrom<Symbol>(op, name);
  if (!symbol)
    op->emitOpError("refers to ")
        << name << ", which is no " << Symbol::getOperationName();
  return symbol;
}

/// One tensor per parameter of the unit, in the unit's order.
/// `gradients`: of the unit's gradient type, not that of its parameters.
mlir::LogicalResult verifyPerParameter(mlir::Operation *op,
                                       mlir::FlatSymbolRefAttr name,
                                       mlir::TypeRange types,
                                       llvm::StringRef what,
                                       mlir::SymbolTableCollection &symbolTable,
                                       bool gradients = false);

/// A flat tensor of exactly this type.
mlir::LogicalResult verifyFlat(mlir::Operation *op, mlir::Type type,
                               mlir::RankedTensorType expected,
                               llvm::StringRef what);

/// A wait's token comes from its own kind of start.
template <typename Start>
mlir::LogicalResult verifyToken(mlir::Operation *wait) {
  if (!wait->getOperand(0).getDefiningOp<Start>())
    return wait->emitOpError("expects the token of ")
           << Start::getOperationName();
  return mlir::success();
}

} // namespace shardc::fsdp

#endif
