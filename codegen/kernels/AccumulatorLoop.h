// The loops of a kernel that carry accumulators, and the lowering of all its
// loops to branches.
#ifndef SHARDC_CODEGEN_KERNELS_ACCUMULATORLOOP_H
#define SHARDC_CODEGEN_KERNELS_ACCUMULATORLOOP_H

#include "mlir/IR/Builders.h"

namespace shardc::kernels {

using Accumulators = llvm::SmallVector<mlir::Value>;

/// Emits an scf.for from `from` to below `to`. `body` is called once, with the
/// loop, its position and the accumulators of an iteration, which it replaces
/// by the next one's; behind the loop `accumulators` are its results.
llvm::LogicalResult
forLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
        mlir::Value to, mlir::Value step, Accumulators &accumulators,
        llvm::function_ref<llvm::LogicalResult(mlir::Operation *, mlir::Value,
                                               Accumulators &)>
            body);

/// Lowers every op of scf below `root` to branches.
llvm::LogicalResult lowerLoops(mlir::Operation *root);

} // namespace shardc::kernels

#endif
