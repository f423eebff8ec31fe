// Emits sums (and other reductions) of a kernel while its loops run: how they
// begin, how a term joins them, and how they end.
#ifndef SHARDC_CODEGEN_KERNELS_REDUCTIONEMITTER_H
#define SHARDC_CODEGEN_KERNELS_REDUCTIONEMITTER_H

#include "codegen/kernels/ElementEmitter.h"
#include "codegen/kernels/Reduction.h"

namespace shardc::kernels {

class ReductionEmitter {
public:
  /// `combiners` are those of each of the nest's reductions.
  ReductionEmitter(mlir::OpBuilder &builder, VectorOps &vectors,
                   ElementEmitter &elements, const LoopNest &nest,
                   llvm::ArrayRef<llvm::SmallVector<Combiner>> combiners)
      : builder(builder), vectors(vectors), elements(elements), nest(nest),
        combiners(combiners), loc(nest.outputs.front().getLoc()) {}

  /// Emits one accumulator per result of each reduction, `copies` times:
  /// vectors of neutral elements.
  llvm::SmallVector<mlir::Value> neutral(llvm::ArrayRef<unsigned> reductions,
                                         unsigned copies);
  /// Adds the terms at the current position to one accumulator per result.
  /// Where `mask` is false (null: nowhere), an accumulator stays.
  llvm::LogicalResult
  accumulate(unsigned reduction,
             llvm::MutableArrayRef<mlir::Value> accumulators, mlir::Value mask);
  /// Returns the result, which is `value` combined with what the reduction
  /// starts from.
  llvm::FailureOr<mlir::Value> withInitial(unsigned reduction, unsigned result,
                                           mlir::Value value);

private:
  mlir::OpBuilder &builder;
  VectorOps &vectors;
  ElementEmitter &elements;
  const LoopNest &nest;
  llvm::ArrayRef<llvm::SmallVector<Combiner>> combiners;
  mlir::Location loc;
};

} // namespace shardc::kernels

#endif
