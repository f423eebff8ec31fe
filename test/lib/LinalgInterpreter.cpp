// An interpreter of linalg generics. Scalars are attributes: each scalar op is
// evaluated by its own folder.
#include "LinalgInterpreter.h"

#include "frontend/nn/support/Verification.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace shardc;

namespace {

class Interpreter {
public:
  std::optional<SmallVector<nn::HostTensor>>
  run(func::FuncOp kernel, ArrayRef<nn::HostTensor> inputs);

private:
  LogicalResult runOp(Operation *op);
  static int64_t toInt(Attribute value);
  static Attribute elementAt(const nn::HostTensor &tensor,
                             ArrayRef<int64_t> index);
  /// Replaces the elements of `into` at the row-major positions.
  static nn::HostTensor write(const nn::HostTensor &into,
                              ArrayRef<int64_t> positions,
                              ArrayRef<Attribute> values);
  static int64_t linear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index);
  static void forEachIndex(ArrayRef<int64_t> shape,
                           llvm::function_ref<void(ArrayRef<int64_t>)> visit);
  LogicalResult runInsert(tensor::InsertSliceOp insert);
  LogicalResult runGeneric(linalg::GenericOp generic);
  LogicalResult runScalar(Operation *op);

  llvm::DenseMap<Value, nn::HostTensor> tensors;
  llvm::DenseMap<Value, Attribute> scalars;
  SmallVector<int64_t> loopIndex;
};

} // namespace

std::optional<SmallVector<nn::HostTensor>>
Interpreter::run(func::FuncOp kernel, ArrayRef<nn::HostTensor> inputs) {
  for (auto [argument, input] : llvm::zip_equal(kernel.getArguments(), inputs))
    tensors[argument] = input;
  for (Operation &op : kernel.front()) {
    if (isa<func::ReturnOp>(op)) {
      SmallVector<nn::HostTensor> results;
      for (Value operand : op.getOperands())
        results.push_back(tensors.lookup(operand));
      return results;
    }
    if (failed(runOp(&op)))
      return std::nullopt;
  }
  llvm_unreachable("a kernel ends in a return");
}

LogicalResult Interpreter::runOp(Operation *op) {
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    tensors[empty] = nn::HostTensor::splat(
        empty.getType(), std::numeric_limits<double>::quiet_NaN());
    return success();
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    auto type = cast<RankedTensorType>(fill.getResult(0).getType());
    Attribute value = scalars.lookup(fill.getInputs()[0]);
    tensors[fill.getResult(0)] =
        isa<FloatAttr>(value)
            ? nn::HostTensor::splat(type,
                                    cast<FloatAttr>(value).getValueAsDouble())
            : nn::HostTensor::splatInt(type, toInt(value));
    return success();
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    tensors[slice] =
        tensors.lookup(slice.getSource())
            .sliced(slice.getStaticOffsets(), slice.getStaticSizes(),
                    slice.getStaticStrides());
    return success();
  }
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    tensors[op->getResult(0)] = tensors.lookup(op->getOperand(0))
                                    .reshaped(nn::shapeOf(op->getResult(0)));
    return success();
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return runInsert(insert);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return runGeneric(generic);
  return runScalar(op);
}

int64_t Interpreter::toInt(Attribute value) {
  const APInt bits = cast<IntegerAttr>(value).getValue();
  return bits.getBitWidth() == 1 ? bits.getZExtValue() : bits.getSExtValue();
}

Attribute Interpreter::elementAt(const nn::HostTensor &tensor,
                                 ArrayRef<int64_t> index) {
  if (tensor.isFloat())
    return FloatAttr::get(tensor.elementType(), tensor.floatAt(index));
  return IntegerAttr::get(tensor.elementType(),
                          APInt(tensor.elementType().getIntOrFloatBitWidth(),
                                tensor.intAt(index), /*isSigned=*/true,
                                /*implicitTrunc=*/true));
}

nn::HostTensor Interpreter::write(const nn::HostTensor &into,
                                  ArrayRef<int64_t> positions,
                                  ArrayRef<Attribute> values) {
  if (into.isFloat()) {
    nn::HostTensor::Floats elements = into.toFloats();
    for (auto [position, value] : llvm::zip_equal(positions, values))
      elements[position] = cast<FloatAttr>(value).getValueAsDouble();
    return nn::HostTensor::floats(into.type(), std::move(elements));
  }
  nn::HostTensor::Ints elements = into.toInts();
  for (auto [position, value] : llvm::zip_equal(positions, values))
    elements[position] = toInt(value);
  return nn::HostTensor::ints(into.type(), std::move(elements));
}

int64_t Interpreter::linear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index))
    position = position * size + i;
  return position;
}

void Interpreter::forEachIndex(
    ArrayRef<int64_t> shape,
    llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size());
  for (int64_t i = 0; i < nn::product(shape); ++i) {
    int64_t rest = i;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
      index[dim] = rest % shape[dim];
    visit(index);
  }
}

LogicalResult Interpreter::runInsert(tensor::InsertSliceOp insert) {
  const nn::HostTensor source = tensors.lookup(insert.getSource());
  const nn::HostTensor into = tensors.lookup(insert.getDest());
  SmallVector<int64_t> positions;
  SmallVector<Attribute> values;
  forEachIndex(source.shape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> target;
    for (auto [i, start, step] : llvm::zip_equal(
             index, insert.getStaticOffsets(), insert.getStaticStrides()))
      target.push_back(start + i * step);
    positions.push_back(linear(into.shape(), target));
    values.push_back(elementAt(source, index));
  });
  tensors[insert] = write(into, positions, values);
  return success();
}

LogicalResult Interpreter::runGeneric(linalg::GenericOp generic) {
  const nn::HostTensor initial = tensors.lookup(generic.getOutputs()[0]);
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Block &body = generic.getRegion().front();
  llvm::DenseMap<int64_t, Attribute> written;
  LogicalResult result = success();
  loopIndex.clear();
  forEachIndex(generic.getStaticLoopRanges(), [&](ArrayRef<int64_t> loops) {
    if (failed(result))
      return;
    loopIndex.assign(loops.begin(), loops.end());
    for (auto [input, map, argument] :
         llvm::zip(generic.getInputs(), maps, body.getArguments()))
      scalars[argument] = elementAt(tensors.lookup(input), map.compose(loops));
    const SmallVector<int64_t> target = maps.back().compose(loops);
    Attribute &element = written[linear(initial.shape(), target)];
    scalars[body.getArguments().back()] =
        element ? element : elementAt(initial, target);
    for (Operation &op : body.without_terminator())
      if (failed(result = runScalar(&op)))
        return;
    element = scalars.lookup(body.getTerminator()->getOperand(0));
  });
  if (failed(result))
    return failure();
  SmallVector<int64_t> positions;
  SmallVector<Attribute> values;
  for (auto [position, value] : written) {
    positions.push_back(position);
    values.push_back(value);
  }
  tensors[generic.getResult(0)] = write(initial, positions, values);
  return success();
}

LogicalResult Interpreter::runScalar(Operation *op) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    scalars[index] = IntegerAttr::get(IndexType::get(op->getContext()),
                                      loopIndex[index.getDim()]);
    return success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<int64_t> index;
    for (Value position : extract.getIndices())
      index.push_back(toInt(scalars.lookup(position)));
    scalars[extract] = elementAt(tensors.lookup(extract.getTensor()), index);
    return success();
  }
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    Attribute value = scalars.lookup(operand);
    // Constants of the enclosing function are values of bodies too.
    if (!value)
      matchPattern(operand, m_Constant(&value));
    operands.push_back(value);
  }
  // The same bits, of a type with or without a sign.
  if (isa<UnrealizedConversionCastOp>(op)) {
    scalars[op->getResult(0)] = IntegerAttr::get(
        op->getResult(0).getType(), cast<IntegerAttr>(operands[0]).getValue());
    return success();
  }
  // Folds only where it is exact.
  if (auto narrow = dyn_cast<arith::TruncFOp>(op)) {
    scalars[narrow] = FloatAttr::get(
        narrow.getType(), cast<FloatAttr>(operands[0]).getValueAsDouble());
    return success();
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return op->emitError("does not fold to a value");
  auto value = dyn_cast<Attribute>(results[0]);
  scalars[op->getResult(0)] =
      value ? value : scalars.lookup(cast<Value>(results[0]));
  return success();
}

std::optional<SmallVector<nn::HostTensor>>
shardc::test::runKernel(func::FuncOp kernel, ArrayRef<nn::HostTensor> inputs) {
  return Interpreter().run(kernel, inputs);
}
