// Matrix products. A two-dim right side makes nn.linear, whatever the rank of
// the left side.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/decode/Extremes.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// x [..., in] times w [in, out]. A weight that is transposed right before is
/// read transposed instead.
Operand linear(Emitter &emit, const Operand &input, const Operand &weight,
               const std::optional<Operand> &bias) {
  if (!weight.isConstant())
    if (auto transpose = weight.value().getDefiningOp<nn::TransposeOp>())
      return emit.linear(input, transpose.getInput(), true, bias);
  return emit.linear(input, weight, false, bias);
}

LogicalResult matMul(NodeContext &context) {
  Operand lhs = context.input(0), rhs = context.input(1);
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 1)))
    return failure();
  if (lhs.rank() == 0 || rhs.rank() == 0)
    return context.error("expects inputs of rank 1 or more");
  Emitter &emit = context.emit;
  // Vectors become matrices for the product.
  bool row = lhs.rank() == 1, column = rhs.rank() == 1;
  if (row)
    lhs = emit.reshape(lhs, {1, lhs.shape()[0]});
  if (column)
    rhs = emit.reshape(rhs, {rhs.shape()[0], 1});
  int64_t rows = lhs.shape()[lhs.rank() - 2], depth = lhs.shape().back(),
          columns = rhs.shape().back();
  if (rhs.shape()[rhs.rank() - 2] != depth)
    return context.error("cannot multiply [" + Twine(rows) + ", " +
                         Twine(depth) + "] by [" +
                         Twine(rhs.shape()[rhs.rank() - 2]) + ", " +
                         Twine(columns) + "]; check the --dim flags");
  Operand result;
  if (rhs.rank() == 2) {
    result = linear(emit, lhs, rhs, std::nullopt);
  } else {
    auto batch = [&](const Operand &operand) {
      return emit.splat(operand.shape().drop_back(2),
                        emit.attributes().getI1Type(), 0);
    };
    FailureOr<Shape> dims = context.broadcastShape({batch(lhs), batch(rhs)});
    if (failed(dims))
      return failure();
    auto withBatch = [&](int64_t first, int64_t second) {
      Shape shape(*dims);
      shape.append({first, second});
      return shape;
    };
    result = emit.emit<nn::MatMulOp>(
        emit.typeOf(withBatch(rows, columns), lhs.elementType()),
        {emit.broadcast(lhs, withBatch(rows, depth)),
         emit.broadcast(rhs, withBatch(depth, columns))});
  }
  Shape shape(result.shape());
  if (column)
    shape.pop_back();
  if (row)
    shape.erase(shape.end() - (column ? 1 : 2));
  if (failed(context.checkShape(shape)))
    return failure();
  context.set(0, emit.reshape(result, shape));
  return success();
}

/// alpha A B + beta C.
LogicalResult gemm(NodeContext &context) {
  Operand a = context.input(0), b = context.input(1);
  if (failed(context.expectFloat(0)) || failed(context.sameElementType(0, 2)))
    return failure();
  if (a.rank() != 2 || b.rank() != 2)
    return context.error("expects A and B to have rank 2, got " +
                         Twine(a.rank()) + " and " + Twine(b.rank()));
  Emitter &emit = context.emit;
  if (context.intAttribute("transA", 0))
    a = emit.transpose(a, {1, 0});
  if (context.intAttribute("transB", 0))
    b = emit.transpose(b, {1, 0});
  if (a.shape()[1] != b.shape()[0])
    return context.error("cannot multiply [" + Twine(a.shape()[0]) + ", " +
                         Twine(a.shape()[1]) + "] by [" + Twine(b.shape()[0]) +
                         ", " + Twine(b.shape()[1]) +
                         "]; check the --dim flags");
  int64_t rows = a.shape()[0], columns = b.shape()[1];
  double alpha = context.floatAttribute("alpha", 1),
         beta = context.floatAttribute("beta", 1);
  bool added = context.has(2) && beta != 0;
  // The common case is a linear layer with its bias.
  if (added && alpha == 1 && beta == 1 &&
      context.input(2).type().getNumElements() == columns &&
      (context.input(2).rank() == 1 ||
       (context.input(2).rank() == 2 && context.input(2).shape()[0] == 1))) {
    context.set(0,
                linear(emit, a, b, emit.reshape(context.input(2), {columns})));
    return success();
  }
  auto scaled = [&](const Operand &operand, double factor) {
    return factor == 1
               ? operand
               : emit.binary<nn::MulOp>(
                     operand, emit.scalar(operand.elementType(), factor));
  };
  Emitter::OneRounding one(emit);
  Operand result = scaled(linear(emit, a, b, std::nullopt), alpha);
  if (added) {
    Operand like = emit.splat({rows, columns}, a.elementType(), 0);
    FailureOr<Shape> shape = context.broadcastShape({context.input(2), like});
    if (failed(shape))
      return failure();
    if (*shape != Shape{rows, columns})
      return context.error("expects C to broadcast to [" + Twine(rows) + ", " +
                           Twine(columns) + "]");
    result = emit.binary<nn::AddOp>(result, scaled(context.input(2), beta));
  }
  context.set(0, one.result(result));
  return success();
}

/// Gaussian elimination with the largest pivot of each column: the determinant
/// is the product of the pivots, and changes its sign with each exchange of
/// rows.
LogicalResult det(NodeContext &context) {
  const Operand &x = context.input(0);
  constexpr int64_t most = 128; // each row is a few ops
  if (failed(context.expectFloat(0)))
    return failure();
  if (x.rank() < 2 || x.shape().back() != x.shape()[x.rank() - 2] ||
      x.shape().back() < 1 || x.shape().back() > most)
    return context.error("expects square matrices of at most " + Twine(most) +
                         " rows, got " + shapeText(x.shape()));
  Emitter &emit = context.emit;
  Emitter::OneRounding one(emit);
  int64_t rows = x.shape().back(),
          count = llvm::product_of(x.shape().drop_back(2));
  Type type = emit.arithmeticType(x.elementType());
  Operand rest = emit.reshape(emit.cast(x, type), {count, rows, rows});
  Operand result = emit.splat({count, 1, 1}, type, 1),
          zero = emit.scalar(type, 0), unit = emit.scalar(type, 1);
  for (; rows > 0; --rows) {
    Operand column = emit.sliceDim(rest, 2, 0, 1);
    Operand sizes = emit.unary<nn::AbsOp>(column);
    Operand place = topElements(emit, sizes, 1, 1, /*smallest=*/false).second;
    Operand isPivot =
        emit.compare(nn::CompareKind::eq, emit.iota(rows, 1, 3), place);
    Operand row = emit.reduce<nn::ReduceSumOp>(emit.select(isPivot, rest, zero),
                                               {1}); // [count, 1, rows]
    Operand pivot = emit.sliceDim(row, 2, 0, 1);
    Operand stays = emit.compare(nn::CompareKind::eq, place, emit.integer(0));
    result = emit.binary<nn::MulOp>(
        result, emit.select(stays, pivot, emit.unary<nn::NegOp>(pivot)));
    if (rows == 1)
      break;
    // The first row takes the pivot's place.
    rest = emit.select(isPivot, emit.sliceDim(rest, 1, 0, 1), rest);
    Operand below = emit.sliceDim(rest, 1, 1, rows - 1);
    Operand isZero = emit.compare(nn::CompareKind::eq, pivot, zero);
    Operand factor = emit.binary<nn::DivOp>(emit.sliceDim(below, 2, 0, 1),
                                            emit.select(isZero, unit, pivot));
    rest = emit.binary<nn::SubOp>(
        emit.sliceDim(below, 2, 1, rows - 1),
        emit.binary<nn::MulOp>(factor, emit.sliceDim(row, 2, 1, rows - 1)));
  }
  context.set(0, one.result(emit.cast(
                     emit.reshape(result, Shape(x.shape().drop_back(2))),
                     x.elementType())));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::matMulDecoders() {
  static constexpr Decoder decoders[] = {
      {"Det", 11, 1, 1, det},
      {"Gemm", 7, 2, 3, gemm},
      {"MatMul", 1, 2, 2, matMul},
  };
  return decoders;
}
