// One GPU thread works on a few neighbouring elements at once.
#ifndef SHARDC_CODEGEN_GPU_GPUVECTOROPS_H
#define SHARDC_CODEGEN_GPU_GPUVECTOROPS_H

#include "codegen/kernels/VectorOps.h"

namespace shardc::gpu {

/// 16-bit floats are converted by the hardware's cvt, which rounds to nearest
/// even; a NaN becomes the canonical one. exp of float32 is ex2.approx, with
/// the rounding error of its argument put back in. All other functions stay
/// math ops: correctly rounded instructions, or functions of Functions.cu.
class GpuVectorOps : public kernels::VectorOps {
public:
  using VectorOps::VectorOps;

protected:
  mlir::Value widen(mlir::Location loc, mlir::Value bits, mlir::Type from,
                    mlir::Type to) override;
  mlir::Value round(mlir::Location loc, mlir::Value value,
                    mlir::Type to) override;
  mlir::Value cloneSpecial(mlir::Operation *op,
                           mlir::ValueRange operands) override;

private:
  mlir::Value exponential(mlir::Location loc, mlir::Value x);
  mlir::Type shapedLike(mlir::Value value, mlir::Type element);
};

} // namespace shardc::gpu

#endif
