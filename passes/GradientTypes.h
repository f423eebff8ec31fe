// Element types of gradients: a value's gradient has the value's type, and a
// parameter's the type that nn-precision says, formed without rounding to the
// parameter's.
#ifndef SHARDC_PASSES_GRADIENTTYPES_H
#define SHARDC_PASSES_GRADIENTTYPES_H

#include "frontend/nn/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc {

/// Of the values of a function before its backward pass.
class GradientTypes {
public:
  /// Reads `nn.precision` of the module; without it gradients have the types of
  /// their parameters.
  explicit GradientTypes(mlir::func::FuncOp function);

  mlir::RankedTensorType of(mlir::Value value) const;

  /// A gradient with the shape and element type of `type`. Where its producer
  /// can make that type it does, also through moves that are read once; an
  /// elementwise producer computes on wider operands. Else the gradient is
  /// cast, as one that was held is: its type is settled.
  mlir::Value inType(mlir::Value gradient, mlir::RankedTensorType type,
                     mlir::OpBuilder &builder) const;
  void hold(mlir::Value gradient) { held.insert(gradient); }

private:
  bool canMake(mlir::Value value, mlir::FloatType type, unsigned uses) const;

  mlir::FloatType parameterGradient; // null: that of the parameter
  /// Parameters, and what moves and conversions make of them alone.
  llvm::DenseSet<mlir::Value> parameters;
  llvm::DenseSet<mlir::Value> held;
};

} // namespace shardc

#endif
