// When the buffers of a program are alive, in positions of its entries.
#ifndef SHARDC_CODEGEN_STEP_LIVENESS_H
#define SHARDC_CODEGEN_STEP_LIVENESS_H

#include "codegen/step/MemoryPlanner.h"
#include "codegen/step/Step.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shardc::step {

/// What an entry does with a range of bytes of a buffer.
struct Access {
  BufferOp buffer;
  int64_t begin = 0, end = 0; // bytes
  bool isRead = false, isWritten = false;
};

/// The buffers that an entry's operands name, with their memory effects.
llvm::SmallVector<Access> accesses(mlir::Operation *entry);

/// Whether the op is an entry of a program (not a buffer or view).
bool isEntry(mlir::Operation *op);

/// The wait of a collective, or null where `entry` starts none.
WaitOp waitOf(mlir::Operation *entry);

/// What outlives a step takes of the device's memory.
int64_t persistentBytes(PlanOp plan);

/// The program's own buffers that some entry touches, in the order of their
/// definition, each alive from the first such entry to the last, and to the
/// wait of a collective that touches it. What is gathered in the first
/// micro-batch alone is alive in all of the program.
llvm::MapVector<mlir::Operation *, Lifetime> lifetimes(ProgramOp program);

} // namespace shardc::step

#endif
