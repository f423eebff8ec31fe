// A GPU computes some ops in its own way.
#include "codegen/gpu/GpuVectorOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shardc::gpu {

Type GpuVectorOps::shapedLike(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

Value GpuVectorOps::widen(Location loc, Value bits, Type from, Type to) {
  Value value =
      LLVM::BitcastOp::create(builder, loc, shapedLike(bits, from), bits);
  return arith::ExtFOp::create(builder, loc, shapedLike(bits, to), value);
}

Value GpuVectorOps::round(Location loc, Value value, Type to) {
  Value rounded =
      arith::TruncFOp::create(builder, loc, shapedLike(value, to), value);
  return LLVM::BitcastOp::create(
      builder, loc, shapedLike(value, builder.getI16Type()), rounded);
}

/// Computes 2^(x log2 e). The product's rounding error grows with x; it is
/// computed exactly by an fma and multiplied in, so that what remains is
/// ex2.approx (2 units in the last place) and two roundings: at most 4 units,
/// which is what libmvec grants on the CPU.
Value GpuVectorOps::exponential(Location loc, Value x) {
  auto number = [&](double value) {
    auto attribute = builder.getF32FloatAttr(static_cast<float>(value));
    auto type = dyn_cast<VectorType>(x.getType());
    return Value(arith::ConstantOp::create(
        builder, loc,
        type ? TypedAttr(DenseElementsAttr::get(type, attribute.getValue()))
             : TypedAttr(attribute)));
  };
  constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
  // Behind these, results are 0 and infinity, and infinite arguments would
  // leave a NaN as their rounding error.
  x = arith::MaximumFOp::create(builder, loc, x, number(-104));
  x = arith::MinimumFOp::create(builder, loc, x, number(89));
  Value scaled = arith::MulFOp::create(builder, loc, x, number(log2e));
  Value negated = arith::NegFOp::create(builder, loc, scaled);
  Value error = math::FmaOp::create(builder, loc, x, number(log2e), negated);
  error = math::FmaOp::create(builder, loc, x,
                              number(log2e - double(static_cast<float>(log2e))),
                              error);
  Value correction =
      math::FmaOp::create(builder, loc, error, number(ln2), number(1));
  auto approximate = arith::FastMathFlagsAttr::get(builder.getContext(),
                                                   arith::FastMathFlags::afn);
  Value power = math::Exp2Op::create(builder, loc, scaled, approximate);
  return arith::MulFOp::create(builder, loc, power, correction);
}

Value GpuVectorOps::cloneSpecial(Operation *op, ValueRange operands) {
  if (isa<math::ExpOp>(op) && getElementTypeOrSelf(operands[0]).isF32())
    return exponential(op->getLoc(), operands[0]);
  return {};
}

} // namespace shardc::gpu
