// Linalg generics for elementwise functions and reductions.
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace shardc::nn {

Type computeTypeOf(Type elementType) {
  if (elementType.isUnsignedInteger())
    return IntegerType::get(elementType.getContext(),
                            elementType.getIntOrFloatBitWidth() < 32 ? 32 : 64);
  auto floating = dyn_cast<FloatType>(elementType);
  return floating && floating.getWidth() < 32
             ? Type(Float32Type::get(elementType.getContext()))
             : elementType;
}

/// The bits of an integer as one of a type that differs in its sign only.
static Value withSignedness(OpBuilder &builder, Location loc, Value value,
                            Type type) {
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

/// A scalar of a compute type as it is stored.
static Value narrowed(OpBuilder &builder, Location loc, Value value,
                      Type type) {
  if (isa<FloatType>(type))
    return convertFloat(builder, loc, value, type);
  if (!type.isUnsignedInteger())
    return value;
  Type bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
  if (value.getType() != bits)
    value = arith::TruncIOp::create(builder, loc, bits, value);
  return withSignedness(builder, loc, value, type);
}

Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  const unsigned from = value.getType().getIntOrFloatBitWidth(),
                 to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(builder, loc, type, value);
  // f16 and bf16 have no direct conversion.
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, wide);
}

/// Reads `input` in a loop nest over `rank` dims: aligned at the right,
/// position 0 along dims of size 1 that repeat.
static AffineMap alignedMap(Value input, ArrayRef<int64_t> domain,
                            MLIRContext *context) {
  const int64_t rank = domain.size(),
                missing = rank - tensorType(input).getRank();
  SmallVector<AffineExpr> positions;
  for (auto [dim, size] : llvm::enumerate(shapeOf(input))) {
    const int64_t loop = dim + missing;
    positions.push_back(size == 1 && domain[loop] != 1
                            ? getAffineConstantExpr(0, context)
                            : getAffineDimExpr(loop, context));
  }
  return AffineMap::get(rank, 0, positions, context);
}

static SmallVector<Value> widened(OpBuilder &builder, Location loc,
                                  ValueRange scalars) {
  return llvm::map_to_vector(scalars, [&](Value scalar) -> Value {
    Type type = scalar.getType(), wide = computeTypeOf(type);
    if (isa<FloatType>(type))
      return convertFloat(builder, loc, scalar, wide);
    if (!type.isUnsignedInteger())
      return scalar;
    Value bits =
        withSignedness(builder, loc, scalar,
                       builder.getIntegerType(type.getIntOrFloatBitWidth()));
    return bits.getType() == wide
               ? bits
               : arith::ExtUIOp::create(builder, loc, wide, bits);
  });
}

Value KernelBuilder::map(RankedTensorType type, ValueRange inputs,
                         ArrayRef<AffineMap> maps, ScalarBody body) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, allMaps, iterators,
             [&](OpBuilder &nested, Location, ValueRange scalars) {
               Value value =
                   body(nested, widened(nested, loc, scalars.drop_back()));
               linalg::YieldOp::create(
                   nested, loc,
                   narrowed(nested, loc, value, type.getElementType()));
             })
      .getResult(0);
}

Value KernelBuilder::map(RankedTensorType type, ValueRange inputs,
                         ScalarBody body) {
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(alignedMap(input, type.getShape(), builder.getContext()));
  return map(type, inputs, maps, body);
}

Value KernelBuilder::constant(Type type, double value) {
  if (type.isUnsignedInteger()) {
    Type bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
    return withSignedness(builder, loc, constant(bits, value), type);
  }
  TypedAttr attribute;
  if (isa<FloatType>(type))
    attribute = builder.getFloatAttr(type, value);
  else
    attribute = builder.getIntegerAttr(type, static_cast<int64_t>(value));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value KernelBuilder::convert(Value tensor, Type elementType) {
  if (elementTypeOf(tensor) == elementType)
    return tensor;
  return map(tensorType(tensor).clone(elementType), tensor,
             [&](OpBuilder &nested, ValueRange x) {
               return isa<FloatType>(elementType)
                          ? convertFloat(nested, loc, x[0],
                                         computeTypeOf(elementType))
                          : x[0];
             });
}

/// One generic that reduces over `reduced` dims of the first input's shape.
static Value reduceOnce(KernelBuilder &kernel, ValueRange inputs,
                        ArrayRef<bool> reduced, Value initial,
                        ReductionBody body) {
  OpBuilder &builder = kernel.builder;
  const Location loc = kernel.loc;
  ArrayRef<int64_t> domain = shapeOf(inputs[0]);
  SmallVector<int64_t> shape(domain);
  SmallVector<AffineMap> maps;
  SmallVector<AffineExpr> positions;
  SmallVector<utils::IteratorType> iterators;
  for (int64_t dim = 0; dim < static_cast<int64_t>(domain.size()); ++dim) {
    iterators.push_back(reduced[dim] ? utils::IteratorType::reduction
                                     : utils::IteratorType::parallel);
    positions.push_back(reduced[dim] ? builder.getAffineConstantExpr(0)
                                     : builder.getAffineDimExpr(dim));
    if (reduced[dim])
      shape[dim] = 1;
  }
  for (Value input : inputs)
    maps.push_back(alignedMap(input, domain, builder.getContext()));
  maps.push_back(
      AffineMap::get(domain.size(), 0, positions, builder.getContext()));
  auto type = RankedTensorType::get(shape, initial.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, shape, initial.getType());
  Value filled =
      linalg::FillOp::create(builder, loc, initial, empty).getResult(0);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, filled, maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange scalars) {
               SmallVector<Value> wide =
                   widened(nested, loc, scalars.drop_back());
               linalg::YieldOp::create(nested, loc,
                                       body(nested, scalars.back(), wide));
             })
      .getResult(0);
}

Value KernelBuilder::reduce(ValueRange inputs, ArrayRef<int64_t> dims,
                            Value initial, ReductionBody body) {
  ArrayRef<int64_t> domain = shapeOf(inputs[0]);
  const int64_t rank = domain.size();
  SmallVector<bool> reduced(rank, false);
  for (int64_t dim : dims)
    reduced[dim] = true;
  // Dims of size 1 count as whichever side they are on.
  int64_t leading = 0, trailing = rank;
  while (leading < rank && (reduced[leading] || domain[leading] == 1))
    ++leading;
  while (trailing > leading &&
         (reduced[trailing - 1] || domain[trailing - 1] == 1))
    --trailing;
  auto anyReduced = [&](int64_t begin, int64_t end) {
    return llvm::any_of(llvm::seq(begin, end), [&](int64_t dim) {
      return reduced[dim] && domain[dim] != 1;
    });
  };
  const bool rows = anyReduced(trailing, rank),
             columns = anyReduced(0, leading),
             middle = anyReduced(leading, trailing);
  if (!middle && !(rows && columns && trailing != leading))
    return reduceOnce(*this, inputs, reduced, initial, body);

  // Otherwise copies with the reduced dims last, reduced as rows.
  SmallVector<int64_t> order;
  for (bool last : {false, true})
    for (int64_t dim = 0; dim < rank; ++dim)
      if (reduced[dim] == last)
        order.push_back(dim);
  SmallVector<int64_t> permuted, result(domain);
  SmallVector<AffineExpr> positions(rank);
  SmallVector<bool> permutedReduced;
  for (auto [position, dim] : llvm::enumerate(order)) {
    permuted.push_back(domain[dim]);
    permutedReduced.push_back(reduced[dim]);
    positions[dim] = builder.getAffineDimExpr(position);
    if (reduced[dim])
      result[dim] = 1;
  }
  AffineMap permutation =
      AffineMap::get(rank, 0, positions, builder.getContext());
  SmallVector<Value> moved;
  for (Value input : inputs) {
    AffineMap read =
        alignedMap(input, domain, builder.getContext()).compose(permutation);
    moved.push_back(map(tensorType(input).clone(permuted), input, read,
                        [](OpBuilder &, ValueRange x) { return x[0]; }));
  }
  Value rowsReduced = reduceOnce(*this, moved, permutedReduced, initial, body);
  // The kept dims are in their order already: only dims of size 1 move.
  return reshape(rowsReduced, result);
}

Value KernelBuilder::reshape(Value tensor, ArrayRef<int64_t> shape) {
  if (shapeOf(tensor) == shape)
    return tensor;
  auto type = tensorType(tensor).clone(shape);
  if (auto groups =
          getReassociationIndicesForReshape(tensorType(tensor), type)) {
    if (type.getRank() < tensorType(tensor).getRank())
      return tensor::CollapseShapeOp::create(builder, loc, type, tensor,
                                             *groups);
    return tensor::ExpandShapeOp::create(builder, loc, type, tensor, *groups);
  }
  // Neither a collapse nor an expansion: through one dim.
  const int64_t elements = type.getNumElements();
  auto flat = RankedTensorType::get({elements}, type.getElementType());
  auto all = [](int64_t rank) {
    return SmallVector<ReassociationIndices>{
        llvm::to_vector(llvm::seq<int64_t>(0, rank))};
  };
  if (tensorType(tensor).getRank() != 1)
    tensor = tensor::CollapseShapeOp::create(builder, loc, flat, tensor,
                                             all(tensorType(tensor).getRank()));
  return tensor::ExpandShapeOp::create(builder, loc, type, tensor,
                                       all(type.getRank()));
}

Value KernelBuilder::sum(ValueRange inputs, ArrayRef<int64_t> dims,
                         ScalarBody term) {
  Type accumulator = computeTypeOf(elementTypeOf(inputs[0]));
  return reduce(
      inputs, dims, constant(accumulator, 0),
      [&](OpBuilder &nested, Value accumulated, ValueRange x) -> Value {
        Value value = term(nested, x);
        if (isa<FloatType>(accumulator))
          return arith::AddFOp::create(nested, loc, accumulated, value);
        return arith::AddIOp::create(nested, loc, accumulated, value);
      });
}

LogicalResult buildElementwiseKernel(Operation *op, OpBuilder &builder,
                                     ValueRange operands,
                                     SmallVectorImpl<Value> &results,
                                     ScalarBody body) {
  KernelBuilder kernel(builder, op->getLoc());
  results.push_back(kernel.map(
      cast<RankedTensorType>(op->getResult(0).getType()), operands, body));
  return success();
}

} // namespace shardc::nn
