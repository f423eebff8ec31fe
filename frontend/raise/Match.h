// What the raising patterns ask of values: constants, sums, products,
// parameters, vectors along the last dim.
#ifndef SHARDC_FRONTEND_RAISE_MATCH_H
#define SHARDC_FRONTEND_RAISE_MATCH_H

#include "frontend/nn/support/Describe.h"
#include "frontend/raise/View.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

#include <array>

namespace shardc::raise {

/// The one number that a tensor holds everywhere: a constant, seen through
/// views and casts.
std::optional<double> splatValue(mlir::Value value);
/// Whether `value` is the constant `expected` everywhere, up to float32
/// rounding.
bool isSplat(mlir::Value value, double expected);
/// Whether two numbers agree up to float32 rounding of either.
bool isClose(double value, double expected);
/// A number as it was before an exporter rounded it to
/// float32: 9.999999747378752e-06 is 1e-05. The shortest decimal that rounds to
/// the same float32, if it has at most 6 digits.
double withoutFloat32Rounding(double value);

/// Behind casts between float types.
mlir::Value skipFloatCasts(mlir::Value value);
/// `View::of`'s look-through for casts between float types.
mlir::Value behindFloatCast(mlir::Operation *op);

/// x of x * c or x / c, c being a number; null of what is neither.
mlir::Value behindScale(mlir::Operation *op);
/// c, or 1 / c; 1 of what is neither.
double scaleOf(mlir::Operation *op);

/// Whether `value` depends on parameters and constants alone.
bool isWeightLike(mlir::Value value);
/// Whether `value` is a constant or computed from constants alone.
bool isConstantExpression(mlir::Value value);

/// A value whose elements change along the last dim only, as the view to emit
/// as a vector of that dim's size.
std::optional<View> alongLastDim(mlir::Value value);
/// Emits such a vector, [C].
mlir::Value emitVector(mlir::OpBuilder &builder, mlir::Location location,
                       const View &view);
/// A vector of ones, [C].
mlir::Value onesVector(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::RankedTensorType like);
/// A constant that holds `number` everywhere.
mlir::Value splatConstant(mlir::OpBuilder &builder, mlir::Location location,
                          mlir::RankedTensorType type, double number);

/// value = factor * product of the others; products, quotients by constants and
/// negations are flattened, but not `stop`.
struct Product {
  double factor = 1;
  llvm::SmallVector<mlir::Value, 4> others;
};
Product flattenProduct(mlir::Value value, mlir::Value stop = {});

/// value = offset + sum of the others; sums and differences of constants are
/// flattened.
struct Sum {
  double offset = 0;
  llvm::SmallVector<mlir::Value, 4> others;
};
Sum flattenSum(mlir::Value value);

/// Coefficients c such that value = c[0] + c[1] x + c[2] x^2 + c[3] x^3.
std::optional<std::array<double, 4>> asPolynomial(mlir::Value value,
                                                  mlir::Value x);

/// Tries a rewrite with the operands of a commutative op in both orders, up to
/// the first that succeeds; one that fails has changed nothing.
template <typename Op, typename Rewrite>
llvm::LogicalResult matchCommutative(Op op, Rewrite rewrite) {
  mlir::Value lhs = op.getLhs(), rhs = op.getRhs();
  return llvm::success(llvm::succeeded(rewrite(lhs, rhs)) ||
                       llvm::succeeded(rewrite(rhs, lhs)));
}

/// value = x * x, by a product or a power.
bool isSquare(mlir::Value value, mlir::Value &x);
/// value = mean of x over the last dim, kept with size 1.
bool isMeanOverLastDim(mlir::Value value, mlir::Value &x);
/// Whether `value` holds `narrow` (a tensor whose last dim has size 1) repeated
/// along the last dim; returns `narrow`.
mlir::Value repeatedAlongLastDim(mlir::Value value);

/// What reshapes and casts made a value of.
mlir::Value behindReshapes(mlir::Value value);

/// The type of `like` with another shape.
mlir::RankedTensorType withShape(mlir::Value like,
                                 llvm::ArrayRef<int64_t> shape);
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return typeOf(value).getShape();
}

/// A remark of nn-raise on what it raised; nothing where nobody wants one.
inline mlir::remark::detail::InFlightRemark
remarkRaised(mlir::Location location) {
  return mlir::remark::passed(
      location, mlir::remark::RemarkOpts::name("raised").category("nn-raise"));
}

/// Says that `op` was all but raised to `target`, and what did not fit: text,
/// numbers, and values in words. Free where nobody listens.
template <typename... Parts>
llvm::LogicalResult nearMiss(mlir::PatternRewriter &rewriter,
                             mlir::Operation *op, llvm::StringRef target,
                             const Parts &...why) {
  return rewriter.notifyMatchFailure(op, [&](mlir::Diagnostic &reason) {
    auto add = [&](const auto &part) {
      if constexpr (std::is_convertible_v<decltype(part), mlir::Value>)
        reason << described(part);
      else
        reason << part;
    };
    reason << "not raised to " << target << ": ";
    (add(why), ...);
  });
}

} // namespace shardc::raise

#endif
