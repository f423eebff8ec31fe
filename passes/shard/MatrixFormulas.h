// What optimizers of whole matrices make of one: ops on the matrix, which
// become matrix products and kernels as any others.
#ifndef SHARDC_PASSES_SHARD_MATRIXFORMULAS_H
#define SHARDC_PASSES_SHARD_MATRIXFORMULAS_H

#include "mlir/IR/Builders.h"

namespace shardc::fsdp {

/// Muon's: the Newton-Schulz iteration of Keller Jordan's text ("Muon: An
/// optimizer for hidden layers in neural networks", 2024), with the
/// coefficients 3.4445, -4.7750 and 2.0315, as torch.optim.Muon has it (PyTorch
/// 2.9): the matrix, of two dims and f32 or f64, is divided by its Frobenius
/// norm or 1e-7, whichever is larger; then `steps` times
///
///   A = X X^T, B = b A + c A A, X = a X + B X
///
/// and where there are more rows than columns the same of X^T, which is not
/// written out: A = X^T X, X = a X + X B. The result has the matrix's type.
mlir::Value newtonSchulz(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value matrix, int64_t steps);

} // namespace shardc::fsdp

#endif
