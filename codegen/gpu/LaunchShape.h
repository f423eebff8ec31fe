// How the elements of a kernel are shared by threads: decided from its loop
// nest alone.
#ifndef SHARDC_CODEGEN_GPU_LAUNCHSHAPE_H
#define SHARDC_CODEGEN_GPU_LAUNCHSHAPE_H

#include "codegen/kernels/LoopNest.h"

namespace shardc::gpu {

constexpr int64_t warpSize = 32;

struct LaunchShape {
  int64_t grid = 1, block = warpSize; // blocks, and threads of each
  /// Neighbouring elements that a thread loads, computes and stores at once.
  int64_t vector = 1;
  /// Positions are 32-bit integers; else 64-bit ones.
  bool smallIndices = true;
  /// Rows: threads that share a row, a power of two; more than a warp: the
  /// block. Vectors of a row that each has, and whether their values stay in
  /// registers from one pass to the next.
  int64_t rowThreads = 1, vectorsPerThread = 1;
  bool keepsRow = false;
  /// Columns: threads side by side on vectors of a block, and threads that
  /// share the rows of one.
  int64_t columnThreads = 1, stepThreads = 1;
};

LaunchShape shapeOf(mlir::func::FuncOp kernel, const kernels::LoopNest &nest);

} // namespace shardc::gpu

#endif
