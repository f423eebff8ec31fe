// The fsdp dialect: includes everything that a user of its ops needs.
#ifndef SHARDC_PASSES_FSDP_FSDP_H
#define SHARDC_PASSES_FSDP_FSDP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "frontend/nn/NN.h"
#include "passes/fsdp/Attributes.h"
#include "passes/fsdp/Communication.h"
#include "passes/fsdp/FSDPDialect.h.inc"
#include "passes/fsdp/FSDPEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "passes/fsdp/FSDPAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "passes/fsdp/CollectiveInterface.h.inc"
#include "passes/fsdp/FSDPTypes.h.inc"
#define GET_OP_CLASSES
#include "passes/fsdp/FSDPOps.h.inc"

namespace shardc::fsdp {

/// The type of an exact sum (`fsdp.exact_sum`): tensor<68xi64>.
mlir::RankedTensorType getExactSumType(mlir::MLIRContext *context);
/// The type in which gradients of a float type are added: f32 for 16 bits.
mlir::Type getSumType(mlir::Type element);
/// Elements of the optimizer's states behind the first, of a unit that is
/// trained. Of an optimizer of whole matrices these have no such state: it is
/// the most that any of the unit's slices has of what is no matrix.
int64_t laterStateElements(UnitOp unit, llvm::StringRef kind,
                           mlir::SymbolTable &symbols);
/// The type of a unit's `fsdp.matrix_direction`.
mlir::RankedTensorType getDirectionType(UnitOp unit);

} // namespace shardc::fsdp

#endif
