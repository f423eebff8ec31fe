// What a plan says of the inputs that a run fills with numbers of its own.
#ifndef SHARDC_CODEGEN_EMIT_EMITRUNINPUTS_H
#define SHARDC_CODEGEN_EMIT_EMITRUNINPUTS_H

#include "runtime/plan.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc {

/// Fills in the sites that nn-place-draws has described in the module.
/// `buffer`: where a run writes what they draw from.
void emitDraws(mlir::ModuleOp module, uint32_t buffer, plan::Draws &draws);

/// The same of the shares of running statistics, from nn-expand-batch-norms.
void emitRunning(mlir::ModuleOp module, uint32_t buffer,
                 plan::Running &running);

} // namespace shardc

#endif
