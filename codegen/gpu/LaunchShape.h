// A kernel's loop nest alone decides how threads share its elements.
#ifndef SHARDC_CODEGEN_GPU_LAUNCHSHAPE_H
#define SHARDC_CODEGEN_GPU_LAUNCHSHAPE_H

#include "codegen/kernels/LoopNest.h"

namespace shardc::gpu {

constexpr int64_t warpSize = 32;

struct LaunchShape {
  int64_t grid = 1, block = warpSize; // blocks, and threads of each
  /// A thread loads, computes and stores so many neighbouring elements at once.
  int64_t vector = 1;
  bool smallIndices = true; // positions of 32 bits, not 64
  /// In kernels of rows, `rowThreads` (a power of two) share a row; they are
  /// the block where they are more than a warp. Each has `vectorsPerThread` of
  /// the row, whose values stay in registers from one pass to the next if
  /// `keepsRow`.
  int64_t rowThreads = 1, vectorsPerThread = 1;
  bool keepsRow = false;
  /// In kernels of columns, `columnThreads` are side by side on the vectors of
  /// a block, and `stepThreads` share the rows of one.
  int64_t columnThreads = 1, stepThreads = 1;
};

LaunchShape shapeOf(mlir::func::FuncOp kernel, const kernels::LoopNest &nest);

} // namespace shardc::gpu

#endif
