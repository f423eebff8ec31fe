// Softmax and the norms, kernel body: a few generics over rows, which code
// generation fuses into one loop.
#include "frontend/nn/NN.h"
#include "frontend/nn/support/KernelBuilder.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace shardc::nn;

//===----------------------------------------------------------------------===//
// Kernel body
//===----------------------------------------------------------------------===//

namespace {
/// Kernels over rows: functions of elements and of values per row, in the
/// compute type.
class RowKernel : public KernelBuilder {
public:
  RowKernel(OpBuilder &builder, Location loc, Value input)
      : KernelBuilder(builder, loc),
        type(tensorType(input).clone(computeTypeOf(elementTypeOf(input)))),
        rowType(type.clone(rowShape(input))), lastDim(type.getRank() - 1) {}

  /// One value per element, per row; sums over each row, over all rows.
  Value elements(ValueRange inputs, ScalarBody body) {
    return map(type, inputs, body);
  }
  Value perRow(ValueRange inputs, ScalarBody body) {
    return map(rowType, inputs, body);
  }
  Value sumRows(ValueRange inputs, ScalarBody body) {
    return sum(inputs, lastDim, body);
  }
  Value meanRows(ValueRange inputs, ScalarBody body) {
    const double width = type.getShape().back();
    return perRow(
        sumRows(inputs, body), [&](OpBuilder &nested, ValueRange x) -> Value {
          return arith::DivFOp::create(
              nested, loc, x[0],
              KernelBuilder(nested, loc).constant(x[0].getType(), width));
        });
  }
  Value sumColumns(ValueRange inputs, Value like, ScalarBody body) {
    Value sums =
        sum(inputs, llvm::to_vector(llvm::seq<int64_t>(0, lastDim)), body);
    return convert(reshape(sums, shapeOf(like)), elementTypeOf(like));
  }
  /// The largest element of each row. Where a row holds a NaN the exponentials
  /// that follow make it one again: the comparison need not care.
  Value maxRows(Value input) {
    Value lowest = constant(type.getElementType(),
                            -std::numeric_limits<double>::infinity());
    return reduce(input, lastDim, lowest,
                  [&](OpBuilder &nested, Value largest, ValueRange x) -> Value {
                    return arith::MaximumFOp::create(
                        nested, loc, largest, x[0], arith::FastMathFlags::nnan);
                  });
  }
  /// 1 / sqrt(x + epsilon) per row.
  Value rstd(Value meanSquare, double epsilon) {
    return perRow(meanSquare, [&](OpBuilder &nested, ValueRange x) -> Value {
      KernelBuilder k(nested, loc);
      Value sum = arith::AddFOp::create(nested, loc, x[0],
                                        k.constant(x[0].getType(), epsilon));
      Value root = math::SqrtOp::create(nested, loc, sum);
      return arith::DivFOp::create(nested, loc, k.constant(x[0].getType(), 1),
                                   root);
    });
  }

  RankedTensorType type, rowType;
  int64_t lastDim;
};

/// Scalar arithmetic at one place.
struct Arithmetic {
  OpBuilder &builder;
  Location loc;
  Value add(Value x, Value y) {
    return arith::AddFOp::create(builder, loc, x, y);
  }
  Value sub(Value x, Value y) {
    return arith::SubFOp::create(builder, loc, x, y);
  }
  Value mul(Value x, Value y) {
    return arith::MulFOp::create(builder, loc, x, y);
  }
  Value div(Value x, Value y) {
    return arith::DivFOp::create(builder, loc, x, y);
  }
  Value exp(Value x) { return math::ExpOp::create(builder, loc, x); }
  Value log(Value x) { return math::LogOp::create(builder, loc, x); }
  /// (x - mean) * rstd
  Value normalize(Value x, Value mean, Value rstd) {
    return mul(sub(x, mean), rstd);
  }
};
} // namespace

/// exp(x - max) and its sum, per row.
static std::tuple<Value, Value, Value> exponentials(RowKernel &kernel,
                                                    Value input) {
  Value largest = kernel.maxRows(input);
  Value exponential =
      kernel.elements({input, largest}, [&](OpBuilder &nested, ValueRange x) {
        Arithmetic a{nested, kernel.loc};
        return a.exp(a.sub(x[0], x[1]));
      });
  Value sum = kernel.sumRows(exponential,
                             [](OpBuilder &, ValueRange x) { return x[0]; });
  return {largest, exponential, sum};
}

LogicalResult SoftmaxOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[0]);
  auto [largest, exponential, sum] = exponentials(kernel, operands[0]);
  results.push_back(kernel.map(tensorType(getResult()), {exponential, sum},
                               [&](OpBuilder &nested, ValueRange x) {
                                 return Arithmetic{nested, getLoc()}.div(x[0],
                                                                         x[1]);
                               }));
  return success();
}

LogicalResult LogSoftmaxOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                        SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[0]);
  auto [largest, exponential, sum] = exponentials(kernel, operands[0]);
  // The largest first: beside it the logarithm of a sum would lose its digits.
  Value logSum = kernel.perRow(sum, [&](OpBuilder &nested, ValueRange x) {
    return Arithmetic{nested, getLoc()}.log(x[0]);
  });
  results.push_back(kernel.map(tensorType(getResult()),
                               {operands[0], largest, logSum},
                               [&](OpBuilder &nested, ValueRange x) {
                                 Arithmetic a{nested, getLoc()};
                                 return a.sub(a.sub(x[0], x[1]), x[2]);
                               }));
  return success();
}

LogicalResult SoftmaxGradOp::buildKernel(OpBuilder &builder,
                                         ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[0]);
  Value dot = kernel.sumRows(operands, [&](OpBuilder &nested, ValueRange x) {
    return Arithmetic{nested, getLoc()}.mul(x[0], x[1]);
  });
  results.push_back(kernel.map(tensorType(getResult()),
                               {operands[0], operands[1], dot},
                               [&](OpBuilder &nested, ValueRange x) {
                                 Arithmetic a{nested, getLoc()};
                                 return a.mul(x[0], a.sub(x[1], x[2]));
                               }));
  return success();
}

LogicalResult LayerNormOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                       SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[0]);
  Value mean = kernel.meanRows(operands[0],
                               [](OpBuilder &, ValueRange x) { return x[0]; });
  Value variance = kernel.meanRows({operands[0], mean},
                                   [&](OpBuilder &nested, ValueRange x) {
                                     Arithmetic a{nested, getLoc()};
                                     Value centred = a.sub(x[0], x[1]);
                                     return a.mul(centred, centred);
                                   });
  Value rstd = kernel.rstd(variance, getEpsilon().convertToDouble());
  SmallVector<Value> inputs{operands[0], mean, rstd};
  llvm::append_range(inputs, operands.drop_front());
  results.push_back(kernel.map(
      tensorType(getResult()), inputs, [&](OpBuilder &nested, ValueRange x) {
        Arithmetic a{nested, getLoc()};
        Value scaled = a.mul(a.normalize(x[0], x[1], x[2]), x[3]);
        return x.size() > 4 ? a.add(scaled, x[4]) : scaled;
      }));
  results.push_back(kernel.convert(mean, elementTypeOf(getMean())));
  results.push_back(kernel.convert(rstd, elementTypeOf(getRstd())));
  return success();
}

LogicalResult LayerNormGradOp::buildKernel(OpBuilder &builder,
                                           ValueRange operands,
                                           SmallVectorImpl<Value> &results) {
  // dx = rstd (g - mean(g) - xhat mean(g xhat)), with g = dy gamma.
  RowKernel kernel(builder, getLoc(), operands[1]);
  Value dy = operands[0], input = operands[1], gamma = operands[2],
        mean = operands[3], rstd = operands[4];
  Value meanGradient =
      kernel.meanRows({dy, gamma}, [&](OpBuilder &nested, ValueRange x) {
        return Arithmetic{nested, getLoc()}.mul(x[0], x[1]);
      });
  Value meanProduct = kernel.meanRows(
      {dy, gamma, input, mean, rstd}, [&](OpBuilder &nested, ValueRange x) {
        Arithmetic a{nested, getLoc()};
        return a.mul(a.mul(x[0], x[1]), a.normalize(x[2], x[3], x[4]));
      });
  results.push_back(
      kernel.map(tensorType(getResult()),
                 {dy, gamma, input, mean, rstd, meanGradient, meanProduct},
                 [&](OpBuilder &nested, ValueRange x) {
                   Arithmetic a{nested, getLoc()};
                   Value rest = a.sub(a.mul(x[0], x[1]), x[5]);
                   Value along = a.mul(a.normalize(x[2], x[3], x[4]), x[6]);
                   return a.mul(x[4], a.sub(rest, along));
                 }));
  return success();
}

LogicalResult
LayerNormParamGradOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                  SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[1]);
  results.push_back(kernel.sumColumns(
      operands, getGammaGradient(), [&](OpBuilder &nested, ValueRange x) {
        Arithmetic a{nested, getLoc()};
        return a.mul(x[0], a.normalize(x[1], x[2], x[3]));
      }));
  results.push_back(
      kernel.sumColumns(operands[0], getBetaGradient(),
                        [](OpBuilder &, ValueRange x) { return x[0]; }));
  return success();
}

LogicalResult RmsNormOp::buildKernel(OpBuilder &builder, ValueRange operands,
                                     SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[0]);
  Value meanSquare =
      kernel.meanRows(operands[0], [&](OpBuilder &nested, ValueRange x) {
        return Arithmetic{nested, getLoc()}.mul(x[0], x[0]);
      });
  Value rstd = kernel.rstd(meanSquare, getEpsilon().convertToDouble());
  results.push_back(kernel.map(tensorType(getResult()),
                               {operands[0], rstd, operands[1]},
                               [&](OpBuilder &nested, ValueRange x) {
                                 Arithmetic a{nested, getLoc()};
                                 return a.mul(a.mul(x[0], x[1]), x[2]);
                               }));
  results.push_back(kernel.convert(rstd, elementTypeOf(getRstd())));
  return success();
}

LogicalResult RmsNormGradOp::buildKernel(OpBuilder &builder,
                                         ValueRange operands,
                                         SmallVectorImpl<Value> &results) {
  // dx = rstd (g - xhat mean(g xhat)), with g = dy gamma and xhat = x rstd.
  RowKernel kernel(builder, getLoc(), operands[1]);
  Value meanProduct =
      kernel.meanRows(operands, [&](OpBuilder &nested, ValueRange x) {
        Arithmetic a{nested, getLoc()};
        return a.mul(a.mul(x[0], x[2]), a.mul(x[1], x[3]));
      });
  SmallVector<Value> inputs(operands);
  inputs.push_back(meanProduct);
  results.push_back(kernel.map(
      tensorType(getResult()), inputs, [&](OpBuilder &nested, ValueRange x) {
        Arithmetic a{nested, getLoc()};
        return a.mul(x[3],
                     a.sub(a.mul(x[0], x[2]), a.mul(a.mul(x[1], x[3]), x[4])));
      }));
  return success();
}

LogicalResult RmsNormParamGradOp::buildKernel(OpBuilder &builder,
                                              ValueRange operands,
                                              SmallVectorImpl<Value> &results) {
  RowKernel kernel(builder, getLoc(), operands[1]);
  results.push_back(kernel.sumColumns(operands, getGammaGradient(),
                                      [&](OpBuilder &nested, ValueRange x) {
                                        Arithmetic a{nested, getLoc()};
                                        return a.mul(x[0], a.mul(x[1], x[2]));
                                      }));
  return success();
}
