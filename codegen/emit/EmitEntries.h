// The entries of a step.program as messages.
#ifndef SHARDC_CODEGEN_EMIT_EMITENTRIES_H
#define SHARDC_CODEGEN_EMIT_EMITENTRIES_H

#include "codegen/step/Step.h"
#include "runtime/plan.pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace shardc {

/// The plan's name of an element type; INVALID where it has none.
plan::DType dtypeOf(mlir::Type elementType);

/// Indices by which entries refer to the rest of the plan.
struct PlanIndices {
  llvm::DenseMap<mlir::Operation *, uint32_t> buffers; // by step.buffer
  llvm::StringMap<uint32_t> kernels, units, groups;
};

/// A view as a message.
void emitTensor(mlir::Value view, const PlanIndices &indices,
                plan::Tensor *tensor);

llvm::Error emitProgram(step::ProgramOp program, const PlanIndices &indices,
                        plan::Program *message);

} // namespace shardc

#endif
