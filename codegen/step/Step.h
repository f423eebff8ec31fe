// The step dialect: includes everything that a user of its ops needs.
#ifndef SHARDC_CODEGEN_STEP_STEP_H
#define SHARDC_CODEGEN_STEP_STEP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "codegen/step/Attributes.h"
#include "codegen/step/Communication.h"
#include "codegen/step/StepDialect.h.inc"
#include "codegen/step/StepEnums.h.inc"
namespace shardc::step {
/// What all entries check of their operands.
mlir::LogicalResult verifyEntry(mlir::Operation *entry);
} // namespace shardc::step

#define GET_TYPEDEF_CLASSES
#include "codegen/step/CollectiveInterface.h.inc"
#include "codegen/step/EntryInterface.h.inc"
#include "codegen/step/StepTypes.h.inc"
#define GET_OP_CLASSES
#include "codegen/step/StepOps.h.inc"

namespace shardc::step {

constexpr int64_t poolCount = getMaxEnumValForPool() + 1;
constexpr int64_t kindCount = getMaxEnumValForKind() + 1;

/// Where buffers of a kind lie.
Pool poolOf(Kind kind);

} // namespace shardc::step

#endif
