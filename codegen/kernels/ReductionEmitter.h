// Sums (and other reductions) of a kernel while its loops run: where they
// begin, how a term joins them, and how they end.
#ifndef SHARDC_CODEGEN_KERNELS_REDUCTIONEMITTER_H
#define SHARDC_CODEGEN_KERNELS_REDUCTIONEMITTER_H

#include "codegen/kernels/ElementEmitter.h"
#include "codegen/kernels/Reduction.h"

namespace shardc::kernels {

class ReductionEmitter {
public:
  /// `combiners`: of each of the plan's reductions.
  ReductionEmitter(mlir::OpBuilder &builder, VectorOps &vectors,
                   ElementEmitter &elements, const KernelPlan &plan,
                   llvm::ArrayRef<llvm::SmallVector<Combiner>> combiners)
      : builder(builder), vectors(vectors), elements(elements), plan(plan),
        combiners(combiners), loc(plan.outputs.front().getLoc()) {}

  /// One accumulator per result of each reduction, `copies` times: vectors of
  /// neutral elements.
  llvm::SmallVector<mlir::Value> neutral(llvm::ArrayRef<unsigned> reductions,
                                         unsigned copies);
  /// Adds the terms at the current position to one accumulator per result;
  /// where `mask` (null: all) is false, an accumulator stays.
  llvm::LogicalResult
  accumulate(unsigned reduction,
             llvm::MutableArrayRef<mlir::Value> accumulators, mlir::Value mask);
  /// The result: `value` combined with what the reduction starts from.
  llvm::FailureOr<mlir::Value> withInitial(unsigned reduction, unsigned result,
                                           mlir::Value value);

private:
  mlir::OpBuilder &builder;
  VectorOps &vectors;
  ElementEmitter &elements;
  const KernelPlan &plan;
  llvm::ArrayRef<llvm::SmallVector<Combiner>> combiners;
  mlir::Location loc;
};

} // namespace shardc::kernels

#endif
