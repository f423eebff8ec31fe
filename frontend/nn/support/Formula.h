// Writes formulas as nn ops: short names for building them, with the types
// that follow from the operands.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_FORMULA_H
#define SHARDC_FRONTEND_NN_SUPPORT_FORMULA_H

#include "frontend/nn/NN.h"
#include "mlir/IR/Builders.h"

namespace shardc::nn {

/// Builds at one location (that of the op whose gradient it is). Binary
/// functions take values of one type.
class Formula {
public:
  Formula(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value add(mlir::Value x, mlir::Value y) {
    return AddOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return SubOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return MulOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return DivOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value pow(mlir::Value x, mlir::Value y) {
    return PowOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value neg(mlir::Value x) {
    return NegOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value exp(mlir::Value x) {
    return ExpOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value log(mlir::Value x) {
    return LogOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value sqrt(mlir::Value x) {
    return SqrtOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value sigmoid(mlir::Value x) {
    return SigmoidOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value softplus(mlir::Value x) {
    return SoftplusOp::create(builder, loc, x.getType(), x);
  }
  /// Along the last dim.
  mlir::Value logSoftmax(mlir::Value x) {
    return LogSoftmaxOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value abs(mlir::Value x) {
    return AbsOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return MinOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value sin(mlir::Value x) {
    return SinOp::create(builder, loc, x.getType(), x);
  }
  mlir::Value cos(mlir::Value x) {
    return CosOp::create(builder, loc, x.getType(), x);
  }
  /// `value` everywhere, of x's type.
  mlir::Value constant(mlir::Value x, double value);
  mlir::Value scale(mlir::Value x, double factor) {
    return mul(x, constant(x, factor));
  }
  mlir::Value compare(CompareKind kind, mlir::Value x, mlir::Value y);
  mlir::Value logicalAnd(mlir::Value x, mlir::Value y) {
    return AndOp::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return SelectOp::create(builder, loc, x.getType(), condition, x, y);
  }
  mlir::Value cast(mlir::Value x, mlir::Type elementType);
  mlir::Value reduceSum(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  /// x (with dims of size 1) repeated to the shape of `like`.
  mlir::Value broadcast(mlir::Value x, mlir::Value like);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace shardc::nn

#endif
