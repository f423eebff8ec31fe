// Reductions over the threads of a block are shuffles within a warp, then go
// through one slot of shared memory per warp. Every thread gets the result; the
// order is a balanced tree.
#ifndef SHARDC_CODEGEN_GPU_THREADREDUCTION_H
#define SHARDC_CODEGEN_GPU_THREADREDUCTION_H

#include "codegen/gpu/LaunchShape.h"
#include "codegen/kernels/Reduction.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace shardc::gpu {

/// Each thread has such a value, and the combiner makes one of two.
struct ThreadValue {
  const kernels::Combiner *combiner;
  mlir::Value value;
};

class ThreadReduction {
public:
  /// `thread` is the number of the thread in its block, as i32.
  ThreadReduction(mlir::OpBuilder &builder, kernels::VectorOps &vectors,
                  mlir::gpu::GPUFuncOp function, mlir::Value thread)
      : builder(builder), vectors(vectors), function(function), thread(thread),
        loc(function.getLoc()) {}

  /// Combines the values of `threads` neighbouring threads (a power of two,
  /// the first a multiple of it), `stride` apart. More than a warp of them are
  /// the whole block. All threads of the block must be here.
  void combine(llvm::MutableArrayRef<ThreadValue> values, int64_t stride,
               int64_t threads);

private:
  mlir::Value number(int64_t value);
  mlir::Value shuffled(mlir::Value value, int64_t distance);
  void combineWarps(llvm::MutableArrayRef<ThreadValue> values, int64_t stride,
                    int64_t warps);

  mlir::OpBuilder &builder;
  kernels::VectorOps &vectors;
  mlir::gpu::GPUFuncOp function;
  mlir::Value thread;
  mlir::Location loc;
};

} // namespace shardc::gpu

#endif
