// How a linalg reduction combines: the operation of each of its results and
// that operation's neutral element.
#ifndef SHARDC_CODEGEN_KERNELS_REDUCTION_H
#define SHARDC_CODEGEN_KERNELS_REDUCTION_H

#include "codegen/kernels/LoopNest.h"
#include "codegen/kernels/VectorOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shardc::kernels {

/// One result of a reduction: result = combine(accumulator, term).
struct Combiner {
  mlir::Operation *op = nullptr;
  /// The value of the body that is combined with the accumulator.
  mlir::Value term;
  mlir::TypedAttr neutral;
};

/// Returns the combiners of all results, or nothing if a body is not of the
/// form yield(op(accumulator, term)).
std::optional<llvm::SmallVector<Combiner>>
combinersOf(mlir::linalg::GenericOp reduction);
/// Returns the combiners of each of a nest's reductions; emits an error on one
/// that has none.
llvm::FailureOr<llvm::SmallVector<llvm::SmallVector<Combiner>>>
combinersOf(const LoopNest &nest);

/// Emits combine(accumulator, next), of equal types.
mlir::Value combine(VectorOps &vectors, const Combiner &combiner,
                    mlir::Value accumulator, mlir::Value next);

/// Combines all lanes of `vector` pairwise, halves first, which is a fixed
/// order that needs log2(lanes) operations.
mlir::Value combineLanes(mlir::OpBuilder &builder, VectorOps &vectors,
                         const Combiner &combiner, mlir::Value vector);

} // namespace shardc::kernels

#endif
