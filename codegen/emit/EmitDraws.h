// What a plan says of the ops that draw.
#ifndef SHARDC_CODEGEN_EMIT_EMITDRAWS_H
#define SHARDC_CODEGEN_EMIT_EMITDRAWS_H

#include "runtime/plan.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc {

/// Fills in the sites that nn-place-draws has described in the module.
/// `buffer`: where a run writes what they draw from.
void emitDraws(mlir::ModuleOp module, uint32_t buffer, plan::Draws &draws);

} // namespace shardc

#endif
