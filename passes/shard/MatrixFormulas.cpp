// Newton-Schulz iterations in nn's ops.
#include "passes/shard/MatrixFormulas.h"

#include "frontend/nn/NN.h"

using namespace mlir;
using namespace shardc;

namespace {

/// Makes ops on tensors of one element type.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc, Type element)
      : builder(builder), loc(loc), element(element) {}

  /// factor * x.
  Value scaled(double factor, Value x) {
    return make<nn::MulOp>(constant(factor, x.getType()), x);
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(builder, loc, x.getType(), x, y);
  }
  Value product(Value x, Value y, bool transposeX = false,
                bool transposeY = false) {
    auto xType = cast<RankedTensorType>(x.getType()),
         yType = cast<RankedTensorType>(y.getType());
    Type type = tensor(xType.getDimSize(transposeX ? 1 : 0),
                       yType.getDimSize(transposeY ? 0 : 1));
    return nn::MatMulOp::create(builder, loc, type, x, y, transposeX,
                                transposeY);
  }
  /// Rows first, which many threads can do.
  Value sum(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    for (int64_t dim : {1, 0}) {
      type = tensor(dim == 1 ? type.getDimSize(0) : 1, 1);
      x = nn::ReduceSumOp::create(builder, loc, type, x, ArrayRef(dim));
    }
    return x;
  }
  Value root(Value x) {
    return nn::SqrtOp::create(builder, loc, x.getType(), x);
  }
  Value broadcast(Value x, Type type) {
    return nn::BroadcastOp::create(builder, loc, type, x);
  }
  Value constant(double value, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return nn::ConstantOp::create(
        builder, loc,
        SplatElementsAttr::get(tensor, builder.getFloatAttr(element, value)));
  }

private:
  RankedTensorType tensor(int64_t rows, int64_t columns) {
    return RankedTensorType::get({rows, columns}, element);
  }

  OpBuilder &builder;
  Location loc;
  Type element;
};

} // namespace

Value fsdp::newtonSchulz(OpBuilder &builder, Location loc, Value matrix,
                         int64_t steps) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, epsilon = 1e-7;
  auto type = cast<RankedTensorType>(matrix.getType());
  Formula make(builder, loc, type.getElementType());
  Value norm = make.root(make.sum(make.make<nn::MulOp>(matrix, matrix)));
  norm = make.make<nn::MaxOp>(norm, make.constant(epsilon, norm.getType()));
  Value x = make.make<nn::DivOp>(matrix, make.broadcast(norm, type));
  bool isTall = type.getDimSize(0) > type.getDimSize(1);
  for (int64_t step = 0; step < steps; ++step) {
    Value gram = make.product(x, x, isTall, !isTall);
    Value polynomial = make.make<nn::AddOp>(
        make.scaled(b, gram), make.scaled(c, make.product(gram, gram)));
    Value moved =
        isTall ? make.product(x, polynomial) : make.product(polynomial, x);
    x = make.make<nn::AddOp>(make.scaled(a, x), moved);
  }
  return x;
}
