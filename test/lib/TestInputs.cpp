// Values for arguments, and models made of test functions.
#include "TestInputs.h"

#include "frontend/nn/NN.h"
#include "frontend/nn/support/Formula.h"
#include "frontend/nn/support/Verification.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace shardc;

namespace shardc::test {

uint64_t Random::next() {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
}

static nn::HostTensor makeInput(func::FuncOp function, unsigned index,
                                Random &random) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (auto values =
          function.getArgAttrOfType<ElementsAttr>(index, "test.values"))
    return nn::HostTensor::fromAttribute(values);
  const bool isFloat = isa<FloatType>(type.getElementType());
  double low = isFloat ? -1 : 0, high = isFloat ? 1 : 2;
  if (auto range =
          function.getArgAttrOfType<DenseF64ArrayAttr>(index, "test.range")) {
    low = range[0];
    high = range[1];
  }
  nn::HostTensor::Floats values(type.getNumElements());
  for (double &value : values)
    value = random.uniform(low, high);
  if (isFloat)
    return nn::HostTensor::floats(type, std::move(values));
  nn::HostTensor::Ints whole;
  for (double value : values)
    whole.push_back(static_cast<int64_t>(std::floor(value)));
  return nn::HostTensor::ints(type, std::move(whole));
}

SmallVector<nn::HostTensor> makeInputs(func::FuncOp function) {
  Random random(1);
  SmallVector<nn::HostTensor> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    inputs.push_back(makeInput(function, i, random));
  return inputs;
}

/// Sum over all elements of value * weight.
static Value weightedSum(OpBuilder &builder, Value value, Random &random) {
  auto type = cast<RankedTensorType>(value.getType());
  nn::Formula f(builder, value.getLoc());
  nn::HostTensor::Floats weights(type.getNumElements());
  for (double &weight : weights)
    weight = random.uniform(0.5, 1.5);
  Value weight = nn::ConstantOp::create(
      builder, value.getLoc(),
      nn::HostTensor::floats(type, std::move(weights)).toAttribute());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return f.reshape(f.reduceSum(f.mul(value, weight), dims), {});
}

ModuleOp makeModel(ModuleOp module, func::FuncOp function) {
  Random random(2);
  const Location loc = function.getLoc();
  auto outer = OpBuilder::atBlockEnd(module.getBody());
  auto model = ModuleOp::create(outer, loc);
  auto builder = OpBuilder::atBlockEnd(model.getBody());

  SmallVector<Type> types;
  SmallVector<std::optional<nn::ParameterOp>> parameters;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (!isa<FloatType>(tensor.getElementType()) ||
        function.getArgAttr(index, "test.constant")) {
      parameters.push_back(std::nullopt);
      types.push_back(type);
      continue;
    }
    auto parameter = nn::ParameterOp::create(
        builder, loc, llvm::Twine(index).str(), type, "", "", 0, 0,
        tensor.getElementType(), /*transposed=*/false, /*trainable=*/true,
        /*frozen=*/false, StringAttr(), StringAttr(), ArrayAttr());
    parameters.push_back(parameter);
  }

  Value loss;
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  auto result = func::FuncOp::create(builder, loc, "model",
                                     builder.getFunctionType(types, scalar));
  Block *body = result.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  unsigned next = 0;
  for (auto [argument, parameter] :
       llvm::zip_equal(function.getArguments(), parameters))
    mapping.map(argument, parameter ? Value(nn::GetParameterOp::create(
                                          builder, loc, argument.getType(),
                                          parameter->getSymName()))
                                    : Value(body->getArgument(next++)));
  for (Operation &op : function.front().without_terminator())
    builder.clone(op, mapping);
  for (Value returned : function.front().getTerminator()->getOperands()) {
    if (!isa<FloatType>(nn::elementTypeOf(returned)))
      continue;
    Value sum = weightedSum(builder, mapping.lookup(returned), random);
    sum = nn::Formula(builder, loc).cast(sum, builder.getF64Type());
    loss = loss ? nn::Formula(builder, loc).add(loss, sum) : sum;
  }
  func::ReturnOp::create(builder, loc, loss);
  return model;
}

} // namespace shardc::test
