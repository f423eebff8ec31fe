// The loop nests of the three kinds of kernels, as a thread of a CPU runs them.
#ifndef SHARDC_CODEGEN_CPU_CPULOOPS_H
#define SHARDC_CODEGEN_CPU_CPULOOPS_H

#include "codegen/kernels/AccumulatorLoop.h"
#include "codegen/kernels/ReductionEmitter.h"

namespace shardc::cpu {

class CpuLoops {
public:
  CpuLoops(mlir::OpBuilder &builder, kernels::VectorOps &vectors,
           kernels::ElementEmitter &elements, const kernels::LoopNest &nest,
           llvm::ArrayRef<llvm::SmallVector<kernels::Combiner>> combiners,
           llvm::ArrayRef<mlir::Value> outputs, int64_t lanes);

  /// Emits the work on work items [begin, end) and returns how many there are.
  llvm::FailureOr<int64_t> emit(mlir::Value begin, mlir::Value end);

private:
  struct Pass : kernels::KernelPass {
    /// Tensors whose row goes to a buffer of the stack.
    llvm::SmallVector<mlir::Value> kept;
    bool empty() const { return KernelPass::empty() && kept.empty(); }
  };
  using Accumulators = kernels::Accumulators;
  using LaneBody = llvm::function_ref<llvm::LogicalResult(
      unsigned unrolled, Accumulators &accumulators)>;

  // With Elements, a flat tensor.
  llvm::FailureOr<int64_t> emitFlat(mlir::Value begin, mlir::Value end);
  // With Elements and Rows, where a work item is a row.
  llvm::FailureOr<int64_t> emitRows(mlir::Value begin, mlir::Value end);
  llvm::LogicalResult emitRow();
  llvm::LogicalResult emitPass(const Pass &pass);
  llvm::LogicalResult emitPassBody(const Pass &pass, unsigned unrolled,
                                   unsigned unroll, Accumulators &accumulators);
  llvm::LogicalResult storeRowResults(int64_t level);
  // With Columns, where a work item is a block of columns.
  llvm::FailureOr<int64_t> emitColumns(mlir::Value begin, mlir::Value end);
  llvm::LogicalResult emitColumnBlock(mlir::Value firstLane,
                                      int64_t vectorsPerBlock,
                                      int64_t innerLanes);

  /// Runs over lanes [begin, end), which are static or run-time bounds:
  /// `unroll` vectors at a time, then one under a mask.
  llvm::LogicalResult forLanes(mlir::Value begin, mlir::Value end,
                               std::optional<std::pair<int64_t, int64_t>> known,
                               unsigned unroll, Accumulators &accumulators,
                               LaneBody body);
  /// Emits an scf.for that carries the accumulators; `body` is emitted inside.
  llvm::LogicalResult
  forLoop(mlir::Value from, mlir::Value to, int64_t step,
          Accumulators &accumulators,
          llvm::function_ref<llvm::LogicalResult(mlir::Operation *, mlir::Value,
                                                 Accumulators &)>
              body);
  mlir::Value laneMask(mlir::Value lane, mlir::Value end);
  mlir::Value fixedMask(int64_t count);

  Pass passOf(int64_t level) const;
  unsigned unrollOf(const Pass &pass) const;
  void chooseKept();
  int64_t costOf(mlir::Value tensor,
                 llvm::DenseMap<mlir::Value, int64_t> &known) const;
  mlir::Value number(int64_t value) { return vectors.constant(loc, value); }

  mlir::OpBuilder &builder;
  kernels::VectorOps &vectors;
  kernels::ElementEmitter &elements;
  const kernels::LoopNest &nest;
  llvm::ArrayRef<llvm::SmallVector<kernels::Combiner>> combiners;
  kernels::ReductionEmitter sums;
  llvm::SmallVector<mlir::Value> outputs;
  int64_t lanes;
  mlir::Location loc;
  // The rows that are kept on the stack, and their buffers.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> kept;
};

} // namespace shardc::cpu

#endif
