// Writes ops as linalg on tensors, in the forms that code generation lowers:
// elementwise generics with projected permutations (constant 0 on broadcast
// dims), and reductions over trailing dims (rows) or leading dims (columns).
#ifndef SHARDC_FRONTEND_NN_SUPPORT_KERNELBUILDER_H
#define SHARDC_FRONTEND_NN_SUPPORT_KERNELBUILDER_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shardc::nn {

/// What scalars are computed in: float32 for the 16-bit floats, i32 for
/// unsigned integers (which it holds, so that no op need know of signs), else
/// the element type itself.
mlir::Type computeTypeOf(mlir::Type elementType);

/// Body of a generic: from scalars of the compute types to the result's, which
/// is narrowed again.
using ScalarBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;

/// Combines the accumulator with scalars of one position of the inputs.
using ReductionBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Value accumulator, mlir::ValueRange)>;

/// Linalg ops at one place.
class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// A generic over the dims of `type`; inputs[i] is read through maps[i].
  mlir::Value map(mlir::RankedTensorType type, mlir::ValueRange inputs,
                  llvm::ArrayRef<mlir::AffineMap> maps, ScalarBody body);
  /// The same where an input of the result's rank repeats along its dims of
  /// size 1, and one of lower rank is aligned at the right.
  mlir::Value map(mlir::RankedTensorType type, mlir::ValueRange inputs,
                  ScalarBody body);
  /// Reduces inputs over `dims` of the first input's shape, which stay with
  /// size 1; the others are aligned as in `map`. Begins with the scalar
  /// `initial`, whose type the result's elements have. The dims may be any:
  /// those that are neither leading nor trailing are brought to the end first.
  mlir::Value reduce(mlir::ValueRange inputs, llvm::ArrayRef<int64_t> dims,
                     mlir::Value initial, ReductionBody body);
  /// Sum over `dims` of a function of the inputs, in the compute type.
  mlir::Value sum(mlir::ValueRange inputs, llvm::ArrayRef<int64_t> dims,
                  ScalarBody term);
  /// `value` as a scalar of `type` (float or integer).
  mlir::Value constant(mlir::Type type, double value);
  /// Elements converted to `elementType` by a generic of its own; the tensor
  /// itself where they are of that type.
  mlir::Value convert(mlir::Value tensor, mlir::Type elementType);

  /// The same elements under another shape: collapse_shape, expand_shape, or
  /// both.
  mlir::Value reshape(mlir::Value tensor, llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// A scalar float in another float type.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type type);

/// The kernel of an elementwise op.
llvm::LogicalResult buildElementwiseKernel(
    mlir::Operation *op, mlir::OpBuilder &builder, mlir::ValueRange operands,
    llvm::SmallVectorImpl<mlir::Value> &results, ScalarBody body);

} // namespace shardc::nn

#endif
