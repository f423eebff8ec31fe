// A kernel's body becomes what one thread does.
#ifndef SHARDC_CODEGEN_GPU_GPULOOPS_H
#define SHARDC_CODEGEN_GPU_GPULOOPS_H

#include "codegen/gpu/LaunchShape.h"
#include "codegen/gpu/ThreadReduction.h"
#include "codegen/kernels/AccumulatorLoop.h"
#include "codegen/kernels/ReductionEmitter.h"

namespace shardc::gpu {

/// Threads never leave early, for shuffles and barriers need all of them. A
/// thread behind the last vector, row or column works on the last one again,
/// adds nothing and stores nothing.
class GpuLoops {
public:
  GpuLoops(mlir::OpBuilder &builder, kernels::VectorOps &vectors,
           kernels::ElementEmitter &elements, const kernels::LoopNest &nest,
           llvm::ArrayRef<llvm::SmallVector<kernels::Combiner>> combiners,
           const LaunchShape &shape, mlir::gpu::GPUFuncOp function);

  llvm::LogicalResult emit();

private:
  using Accumulators = kernels::Accumulators;
  using Pass = kernels::KernelPass;
  /// A position is clamped to the last one; `inside` (null: always) says
  /// whether it was there.
  struct Clamped {
    mlir::Value position, inside;
  };

  llvm::LogicalResult emitElements();
  llvm::LogicalResult emitRows();
  llvm::LogicalResult emitRowPass(const Pass &pass);
  llvm::LogicalResult emitRowVector(const Pass &pass, int64_t number,
                                    Accumulators &accumulators);
  llvm::LogicalResult emitVector(const Pass &pass, mlir::Value inside,
                                 Accumulators &accumulators);
  llvm::LogicalResult storeRowResults(int64_t level);
  llvm::LogicalResult emitColumns();
  llvm::FailureOr<Accumulators> sumColumns(const Pass &pass);
  /// Combines accumulators over threads, and makes results of them.
  llvm::LogicalResult finish(const Pass &pass, Accumulators &accumulators,
                             int64_t stride, int64_t threads);

  llvm::LogicalResult
  forLoop(mlir::Value from, int64_t to, int64_t step,
          Accumulators &accumulators,
          llvm::function_ref<llvm::LogicalResult(mlir::Operation *, mlir::Value,
                                                 Accumulators &)>
              body);
  /// Stores where `inside` holds.
  void storeGuarded(mlir::Value inside, llvm::function_ref<void()> store);
  Clamped clamp(mlir::Value position, int64_t count, int64_t threads);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value number(int64_t value) { return vectors.constant(loc, value); }
  template <typename Op> mlir::Value make(mlir::Value x, int64_t y) {
    return Op::create(builder, loc, x, number(y));
  }
  /// Returns gpu.thread_id or gpu.block_id as a position.
  template <typename Op> mlir::Value idOf(mlir::Type type);

  mlir::OpBuilder &builder;
  kernels::VectorOps &vectors;
  kernels::ElementEmitter &elements;
  const kernels::LoopNest &nest;
  llvm::ArrayRef<llvm::SmallVector<kernels::Combiner>> combiners;
  kernels::ReductionEmitter sums;
  LaunchShape shape;
  llvm::SmallVector<mlir::Value> outputs;
  mlir::Location loc;
  mlir::Value thread, block;
  ThreadReduction threads;

  // Kernels of rows have the thread's place in its row, and whether the row is
  // there.
  mlir::Value inRow, rowInside;
  llvm::SmallVector<kernels::ElementEmitter::LaneValues> held;
  llvm::SmallVector<Clamped> places;
};

} // namespace shardc::gpu

#endif
