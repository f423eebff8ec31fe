// How a linalg reduction combines: the operation of each of its results and
// that operation's neutral element.
#ifndef SHARDC_CODEGEN_KERNELS_REDUCTION_H
#define SHARDC_CODEGEN_KERNELS_REDUCTION_H

#include "codegen/kernels/KernelPlan.h"
#include "codegen/kernels/VectorOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shardc::kernels {

/// One result of a reduction: result = combine(accumulator, term).
struct Combiner {
  mlir::Operation *op = nullptr;
  /// What is combined with the accumulator, a value of the body.
  mlir::Value term;
  mlir::TypedAttr neutral;
};

/// The combiners of all results, or nothing if a body is not of the form
/// yield(op(accumulator, term)).
std::optional<llvm::SmallVector<Combiner>>
combinersOf(mlir::linalg::GenericOp reduction);
/// Those of each of a plan's reductions; emits an error on one that has none.
llvm::FailureOr<llvm::SmallVector<llvm::SmallVector<Combiner>>>
combinersOf(const KernelPlan &plan);

/// combine(accumulator, next), of equal types.
mlir::Value combine(VectorOps &vectors, const Combiner &combiner,
                    mlir::Value accumulator, mlir::Value next);

/// All lanes of `vector` combined pairwise, halves first: a fixed order that
/// needs log2(lanes) operations.
mlir::Value combineLanes(mlir::OpBuilder &builder, VectorOps &vectors,
                         const Combiner &combiner, mlir::Value vector);

} // namespace shardc::kernels

#endif
