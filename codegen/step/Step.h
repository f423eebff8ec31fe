// The step dialect: includes everything that a user of its ops needs.
#ifndef SHARDC_CODEGEN_STEP_STEP_H
#define SHARDC_CODEGEN_STEP_STEP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "codegen/step/StepDialect.h.inc"
#include "codegen/step/StepEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/step/StepTypes.h.inc"
#define GET_OP_CLASSES
#include "codegen/step/StepOps.h.inc"

namespace shardc::step {

/// Where the buffers of a pool lie.
inline Allocation allocationOf(Pool pool) {
  switch (pool) {
  case Pool::persistent:
    return Allocation::persistent;
  case Pool::gather:
    return Allocation::gather;
  case Pool::accumulation:
    return Allocation::accumulation;
  default:
    return Allocation::step;
  }
}

} // namespace shardc::step

#endif
