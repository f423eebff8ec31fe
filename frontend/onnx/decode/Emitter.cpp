// Op building and host evaluation behind one interface.
#include "frontend/onnx/decode/Emitter.h"
#include "frontend/onnx/decode/Drawn.h"

#include "frontend/nn/support/Evaluation.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;

RankedTensorType Operand::type() const {
  if (isDrawn())
    return drawn().type;
  return isConstant() ? hostTensor.type()
                      : cast<RankedTensorType>(irValue.getType());
}

Emitter::Emitter(Block *block)
    : builder(block->getParent()->getContext()), constantBuilder(builder),
      loc(builder.getUnknownLoc()), scratch(std::make_unique<Block>()) {
  builder.setInsertionPointToEnd(block);
  constantBuilder.setInsertionPointToStart(block);
}

Emitter::~Emitter() = default;

int64_t Emitter::samples() const {
  for (Value argument : constantBuilder.getBlock()->getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() > 0)
      return type.getDimSize(0);
  return 0;
}

//===----------------------------------------------------------------------===//
// Building and evaluating
//===----------------------------------------------------------------------===//

bool Emitter::withinLimit(int64_t elements) {
  // Time is limited as well.
  constexpr int64_t mostInAll = 8 * maxElements;
  if (elements <= maxElements && evaluated <= mostInAll - elements) {
    evaluated += elements;
    return true;
  }
  if (failureText.empty())
    failureText =
        ("needs " + Twine(elements) +
         " elements to be evaluated at compile time, behind " +
         Twine(evaluated) + " of others; the limits are " + Twine(maxElements) +
         " each and " + Twine(mostInAll) + " in all")
            .str();
  return false;
}

std::string Emitter::keyOf(const Operand &constant) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << constant.type() << "#";
  if (constant.number) {
    stream << constant.number;
    return key;
  }
  HostTensor compact = constant.host().compact();
  if (compact.elements() > 64) { // one of its kind
    stream << ++lastNumber;
    return key;
  }
  // By value: an index of the dims that vary, then their elements' bits.
  for (int64_t size : compact.shape())
    stream << size << ",";
  for (int64_t i = 0; i < compact.elements(); ++i)
    stream << ":"
           << (compact.isFloat() ? llvm::bit_cast<int64_t>(compact.floatAt(i))
                                 : compact.intAt(i));
  return key;
}

SmallVector<Operand> Emitter::keep(StringRef key,
                                   SmallVector<Operand> constants) {
  for (Operand &constant : constants)
    constant.number = ++lastNumber;
  return evaluations[key] = std::move(constants);
}

Operand Emitter::view(const Operand &input, StringRef how,
                      ArrayRef<ArrayRef<int64_t>> parameters,
                      llvm::function_ref<HostTensor()> make) {
  std::string key = (how + " " + keyOf(input)).str();
  for (ArrayRef<int64_t> list : parameters) {
    key += "|";
    for (int64_t parameter : list)
      key += std::to_string(parameter) + ",";
  }
  auto known = evaluations.find(key);
  return known != evaluations.end() ? known->second[0] : keep(key, {make()})[0];
}

/// Elements that evaluating an op writes.
static int64_t evaluationCost(Operation *op, ArrayRef<HostTensor> operands) {
  if (op->hasTrait<OpTrait::Elementwise>())
    return nn::distinctElements(operands);
  int64_t cost = 0;
  for (Type type : op->getResultTypes())
    cost += cast<RankedTensorType>(type).getNumElements();
  for (const HostTensor &operand : operands)
    cost = std::max(cost, operand.elements());
  return cost;
}

bool Emitter::isValid(Operation *op) {
  std::string message;
  ScopedDiagnosticHandler collect(op->getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (message.empty())
                                      message = diagnostic.str();
                                    return success();
                                  });
  if (succeeded(op->getName().verifyInvariants(op)))
    return true;
  if (!failureText.empty())
    return false;
  // A number, a float or a boolean where the op takes another: in MLIR's words.
  failureText = message;
  if (StringRef(message).contains(" must be ")) {
    llvm::SetVector<Type> types;
    for (Type type : op->getOperandTypes())
      types.insert(getElementTypeOrSelf(type));
    failureText = "is not supported for the data type " +
                  llvm::join(llvm::map_range(types, typeName), " with ");
  }
  return false;
}

SmallVector<Operand> Emitter::zeros(TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return splat(tensor.getShape(), tensor.getElementType(), 0);
  });
}

std::optional<SmallVector<Operand>>
Emitter::evaluate(OperationState &state, ArrayRef<Operand> operands) {
  Operation *op = Operation::create(state);
  llvm::scope_exit cleanup([&] {
    op->destroy();
    scratch->eraseArguments([](BlockArgument) { return true; });
  });
  if (!isValid(op))
    return zeros(op->getResultTypes());
  auto evaluable = dyn_cast<nn::ReferenceEval>(op);
  if (!evaluable)
    return std::nullopt;
  SmallVector<HostTensor> inputs, outputs;
  for (const Operand &operand : operands)
    inputs.push_back(operand.host());
  int64_t cost = evaluationCost(op, inputs);
  constexpr int64_t few = 256; // cheaper than to look for something better
  if (cost > few) {
    nn::combineProgressions(op, inputs);
    cost = evaluationCost(op, inputs);
  }
  if (!withinLimit(cost))
    return zeros(op->getResultTypes());
  if (failed(evaluable.evaluate(inputs, outputs)))
    return std::nullopt;
  return llvm::to_vector_of<Operand>(outputs);
}

/// Whether an op makes floats that were not there before.
static bool isArithmetic(Operation *op) {
  return (op->hasTrait<OpTrait::Elementwise>() ||
          isa<nn::ReduceSumOp, nn::ReduceMeanOp>(op)) &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
}

SmallVector<Operand> Emitter::emit(StringRef name, ArrayRef<Type> types,
                                   ArrayRef<Operand> operands,
                                   ArrayRef<NamedAttribute> attributes) {
  bool constant = llvm::all_of(
      operands, [](const Operand &operand) { return operand.isConstant(); });
  if (constant) {
    std::string key = name.str();
    llvm::raw_string_ostream stream(key);
    stream << builder.getDictionaryAttr(attributes);
    for (const Operand &operand : operands)
      stream << " " << keyOf(operand);
    for (Type type : types)
      stream << " " << type;
    if (auto known = evaluations.find(key); known != evaluations.end())
      return known->second;
    SmallVector<Value> placeholders;
    for (const Operand &operand : operands)
      placeholders.push_back(scratch->addArgument(operand.type(), loc));
    OperationState state(loc, name, placeholders, types, attributes);
    if (auto results = evaluate(state, operands))
      return keep(key, std::move(*results));
  }
  SmallVector<Value> values;
  for (const Operand &operand : operands)
    values.push_back(materialize(operand));
  Operation *op =
      builder.create(OperationState(loc, name, values, types, attributes));
  auto isEmpty = [](Type type) {
    return cast<ShapedType>(type).getNumElements() == 0;
  };
  // What has no elements is known.
  if (!isValid(op) || (!types.empty() && llvm::all_of(types, isEmpty))) {
    op->erase();
    return zeros(types);
  }
  if (unrounded && isArithmetic(op))
    op->setDiscardableAttr(nn::unroundedAttr, builder.getUnitAttr());
  return SmallVector<Operand>(op->getResults());
}

Operand Emitter::OneRounding::result(const Operand &operand) const {
  // That of an operator inside of another one is a part of the outer one's.
  if (emit.unrounded == 1 && !operand.isConstant())
    if (Operation *op = operand.value().getDefiningOp())
      op->removeDiscardableAttr(nn::unroundedAttr);
  return operand;
}

Value Emitter::materialize(const Operand &operand) {
  if (!operand.isConstant())
    return operand.value();
  if (Value known = materialized.lookup({operand.number, operand.type()}))
    return known;
  ElementsAttr attribute = operand.host().compact().toCompactAttribute();
  Value &value = constants[{attribute, operand.type()}];
  if (!value)
    value = emitConstant(attribute, operand.type());
  if (operand.number)
    materialized[{operand.number, operand.type()}] = value;
  return value;
}

Value Emitter::emitConstant(ElementsAttr attribute, RankedTensorType type) {
  // Constants stand at the start of the block, so that any op may use them.
  if (lastConstant)
    constantBuilder.setInsertionPointAfter(lastConstant);
  else
    constantBuilder.setInsertionPointToStart(builder.getInsertionBlock());
  Value value = nn::ConstantOp::create(constantBuilder, loc,
                                       attribute.getType(), attribute);
  if (value.getType() != type)
    value = nn::BroadcastOp::create(constantBuilder, loc, type, value);
  lastConstant = value.getDefiningOp();
  return value;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Operand Emitter::splat(ArrayRef<int64_t> shape, Type element, double value) {
  return HostTensor::splat(typeOf(shape, element), value);
}

Operand Emitter::scalar(Type element, double value) {
  return splat({}, element, value);
}

Operand Emitter::ints(ArrayRef<int64_t> values) {
  return HostTensor::ints(
      typeOf({int64_t(values.size())}, builder.getI64Type()),
      HostTensor::Ints(values));
}

Operand Emitter::integer(int64_t value) {
  return HostTensor::ints(typeOf({}, builder.getI64Type()), {value});
}

Operand Emitter::iota(int64_t count, int64_t dim, int64_t rank) {
  Shape shape(rank, 1);
  shape[dim] = count;
  // One for all who ask: every layer builds its mask from the same positions.
  std::string key =
      ("iota " + Twine(count) + " " + Twine(dim) + " " + Twine(rank)).str();
  if (auto known = evaluations.find(key); known != evaluations.end())
    return known->second[0];
  if (!withinLimit(count))
    return splat(shape, builder.getI64Type(), 0);
  HostTensor::Ints values(count);
  std::iota(values.begin(), values.end(), 0);
  Operand positions =
      HostTensor::ints(typeOf(shape, builder.getI64Type()), std::move(values));
  return keep(key, {positions})[0];
}

//===----------------------------------------------------------------------===//
// Ops that move elements
//===----------------------------------------------------------------------===//

Operand Emitter::reshape(const Operand &input, ArrayRef<int64_t> shape) {
  if (input.shape() == shape)
    return input;
  RankedTensorType type = typeOf(shape, input.elementType());
  if (!input.isConstant()) {
    // Reshapes of reshapes read the first one's input.
    Value source = input.value();
    while (auto previous = source.getDefiningOp<nn::ReshapeOp>())
      source = previous.getInput();
    return source.getType() == type ? Operand(source)
                                    : emit<nn::ReshapeOp>(type, {source});
  }
  if (input.host().isSplat() && type.getNumElements() > 0) {
    HostTensor one = input.host().sliced(
        Shape(input.rank(), 0), Shape(input.rank(), 1), Shape(input.rank(), 1));
    return one.reshaped({}).broadcastTo(type);
  }
  // A view, unless it joins a broadcast dim with another.
  if (input.host().elements() > 4 * maxElements &&
      !withinLimit(input.host().elements()))
    return splat(shape, input.elementType(), 0);
  return view(input, "reshape", {shape},
              [&] { return input.host().reshaped(shape); });
}

Operand Emitter::transpose(const Operand &input,
                           ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return input;
  if (input.isConstant())
    return view(input, "transpose", {permutation},
                [&] { return input.host().transposed(permutation); });
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(input.shape()[dim]);
  return emit<nn::TransposeOp>(typeOf(shape, input.elementType()), {input},
                               {named("permutation", permutation)});
}

Operand Emitter::broadcast(const Operand &input, ArrayRef<int64_t> shape) {
  if (input.shape() == shape)
    return input;
  RankedTensorType type = typeOf(shape, input.elementType());
  if (input.isConstant())
    return view(input, "broadcast", {shape},
                [&] { return input.host().broadcastTo(type); });
  Shape aligned(shape.size() - input.rank(), 1);
  llvm::append_range(aligned, input.shape());
  Operand source = reshape(input, aligned);
  return aligned == Shape(shape) ? source
                                 : emit<nn::BroadcastOp>(type, {source});
}

Operand Emitter::slice(const Operand &input, ArrayRef<int64_t> starts,
                       ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps) {
  if (input.isConstant())
    return view(input, "slice", {starts, sizes, steps},
                [&] { return input.host().sliced(starts, sizes, steps); });
  // nn.slice only goes forward: take the same elements in ascending order, then
  // reverse.
  Shape first(starts), limits, strides, reversed;
  for (size_t dim = 0; dim < starts.size(); ++dim) {
    int64_t step = sizes[dim] <= 1 ? 1 : steps[dim],
            span = sizes[dim] == 0 ? 0 : (sizes[dim] - 1) * std::abs(step) + 1;
    if (sizes[dim] == 0)
      first[dim] = 0;
    if (step < 0) {
      first[dim] = starts[dim] + (sizes[dim] - 1) * step;
      reversed.push_back(dim);
    }
    limits.push_back(first[dim] + span);
    strides.push_back(std::abs(step));
  }
  Operand result = input;
  RankedTensorType type = typeOf(sizes, input.elementType());
  if (sizes != input.shape())
    result = emit<nn::SliceOp>(type, {input},
                               {named("starts", first), named("limits", limits),
                                named("strides", strides)});
  if (!reversed.empty())
    result = emit<nn::ReverseOp>(type, {result}, {named("dims", reversed)});
  return result;
}

Operand Emitter::sliceDim(const Operand &input, int64_t dim, int64_t start,
                          int64_t size) {
  Shape starts(input.rank(), 0), sizes(input.shape()), steps(input.rank(), 1);
  starts[dim] = start;
  sizes[dim] = size;
  return slice(input, starts, sizes, steps);
}

Operand Emitter::pad(const Operand &input, ArrayRef<int64_t> low,
                     ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(input.shape()))
    shape.push_back(low[dim] + size + high[dim] +
                    (size > 0 ? (size - 1) * interior[dim] : 0));
  if (input.shape() == ArrayRef<int64_t>(shape))
    return input;
  return emit<nn::PadOp>(
      typeOf(shape, input.elementType()), {input},
      {named("low", low), named("high", high), named("interior", interior)});
}

Operand Emitter::concat(ArrayRef<Operand> given, int64_t axis) {
  SmallVector<Operand> inputs(given);
  llvm::erase_if(inputs, [&](const auto &x) { return x.shape()[axis] == 0; });
  if (inputs.size() <= 1)
    return inputs.empty() ? given[0] : inputs[0];
  Shape shape(inputs[0].shape());
  shape[axis] = 0;
  for (const Operand &input : inputs)
    shape[axis] += input.shape()[axis];
  auto build = [&](ArrayRef<Operand> pieces, ArrayRef<int64_t> size) {
    return emit<nn::ConcatOp>(typeOf(size, inputs[0].elementType()), pieces,
                              {named("axis", axis)});
  };
  if (!llvm::all_of(inputs,
                    [](const Operand &input) { return input.isConstant(); }))
    return build(inputs, shape);
  // Dims along which no constant varies stay broadcast.
  SmallVector<Operand> pieces(inputs);
  Shape compact(shape);
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
    auto broadcastAlong = [&](const Operand &input) {
      return input.host().isBroadcastAlong(dim);
    };
    if (dim == axis || shape[dim] <= 1 || !llvm::all_of(inputs, broadcastAlong))
      continue;
    compact[dim] = 1;
    for (Operand &piece : pieces)
      piece = sliceDim(piece, dim, 0, 1);
  }
  return broadcast(build(pieces, compact), shape);
}

Operand Emitter::cast(const Operand &input, Type element) {
  if (input.elementType() == element)
    return input;
  return emit<nn::CastOp>(typeOf(input.shape(), element), {input});
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

Operand Emitter::linear(const Operand &x, const Operand &w, bool isTransposed,
                        const std::optional<Operand> &bias) {
  Shape shape(x.shape());
  shape.back() = w.shape()[isTransposed ? 0 : 1];
  SmallVector<Operand> operands = {x, w};
  if (bias)
    operands.push_back(*bias);
  SmallVector<NamedAttribute> attributes = {
      named(nn::LinearOp::getOperandSegmentSizeAttr(),
            builder.getDenseI32ArrayAttr({1, 1, bias ? 1 : 0, 0}))};
  if (isTransposed)
    attributes.push_back(flag("transpose_weight"));
  return emit<nn::LinearOp>(typeOf(shape, x.elementType()), operands,
                            attributes);
}

Operand Emitter::compare(nn::CompareKind kind, const Operand &lhs,
                         const Operand &rhs) {
  Shape shape = *broadcastShape({lhs, rhs});
  return emit<nn::CompareOp>(
      typeOf(shape, builder.getI1Type()),
      {broadcast(lhs, shape), broadcast(rhs, shape)},
      {named("kind", nn::CompareKindAttr::get(builder.getContext(), kind))});
}

Operand Emitter::select(const Operand &condition, const Operand &lhs,
                        const Operand &rhs) {
  Shape shape = *broadcastShape({condition, lhs, rhs});
  return emit<nn::SelectOp>(typeOf(shape, lhs.elementType()),
                            {broadcast(condition, shape), broadcast(lhs, shape),
                             broadcast(rhs, shape)});
}

std::optional<Shape> Emitter::broadcastShape(ArrayRef<Operand> operands) {
  Shape shape;
  for (const Operand &operand : operands) {
    ArrayRef<int64_t> other = operand.shape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t i = 0; i < other.size(); ++i) {
      int64_t &size = shape[shape.size() - other.size() + i];
      if (size == 1)
        size = other[i];
      else if (other[i] != 1 && other[i] != size)
        return std::nullopt;
    }
  }
  return shape;
}
