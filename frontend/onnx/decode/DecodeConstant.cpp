// Constants and what shapes give: known at compile time, always.
#include "frontend/onnx/decode/Decoder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;

namespace {

LogicalResult constant(NodeContext &context) {
  Builder &builder = context.emit.attributes();
  if (const auto *tensor = context.attribute("value")) {
    llvm::Expected<HostTensor> value =
        hostTensor(builder.getContext(), tensor->t());
    if (!value)
      return context.error("its value " + llvm::toString(value.takeError()));
    context.set(0, *value);
  } else if (const auto *integer = context.attribute("value_int")) {
    context.set(0, context.emit.integer(integer->i()));
  } else if (auto integers = context.intsAttribute("value_ints")) {
    context.set(0, context.emit.ints(*integers));
  } else if (const auto *number = context.attribute("value_float")) {
    context.set(0, context.emit.scalar(builder.getF32Type(), number->f()));
  } else if (const auto *numbers = context.attribute("value_floats")) {
    auto type =
        RankedTensorType::get({numbers->floats_size()}, builder.getF32Type());
    context.set(0, HostTensor::floats(
                       type, HostTensor::Floats(numbers->floats().begin(),
                                                numbers->floats().end())));
  } else {
    return context.error("only tensor, int and float values are supported");
  }
  return success();
}

/// Shape, with the part [start, end) since opset 15.
LogicalResult shape(NodeContext &context) {
  int64_t rank = context.input(0).rank();
  auto clamp = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = clamp(context.intAttribute("start", 0)),
          end = clamp(context.intAttribute("end", rank));
  ArrayRef<int64_t> dims = context.input(0).shape();
  context.set(0, context.emit.ints(start < end ? dims.slice(start, end - start)
                                               : ArrayRef<int64_t>()));
  return success();
}

LogicalResult size(NodeContext &context) {
  context.set(0,
              context.emit.integer(context.input(0).type().getNumElements()));
  return success();
}

LogicalResult constantOfShape(NodeContext &context) {
  FailureOr<Shape> shape = context.constantInts(0, "its shape");
  if (failed(shape) || failed(context.checkShape(*shape)))
    return failure();
  Builder &builder = context.emit.attributes();
  Operand value = context.emit.scalar(builder.getF32Type(), 0);
  if (const auto *attribute = context.attribute("value")) {
    llvm::Expected<HostTensor> given =
        hostTensor(builder.getContext(), attribute->t());
    if (!given)
      return context.error("its value " + llvm::toString(given.takeError()));
    if (given->elements() != 1)
      return context.error("expects its value to have one element");
    value = context.emit.reshape(*given, {});
  }
  context.set(0, context.emit.broadcast(value, *shape));
  return success();
}

LogicalResult range(NodeContext &context) {
  // PyTorch's exporter writes arange(1., 4) with a float and an int64.
  Type element = context.input(0).elementType();
  bool areMixed = false;
  for (size_t i = 1; i < 3; ++i) {
    areMixed |= context.input(i).isFloat() != isa<FloatType>(element);
    if (!isa<FloatType>(element))
      element = context.input(i).elementType();
  }
  if (!areMixed && failed(context.sameElementType(0, 2)))
    return failure();
  double bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    FailureOr<double> bound = context.constantFloat(i, "its bounds");
    if (failed(bound))
      return failure();
    bounds[i] = *bound;
  }
  auto [start, limit, delta] = bounds;
  double count =
      delta == 0 ? NAN : std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count <= double(Emitter::maxElements)))
    return context.error("its step is 0 or it has more than " +
                         Twine(Emitter::maxElements) + " elements");
  auto type = context.emit.typeOf({int64_t(count)}, element);
  if (isa<FloatType>(element)) {
    HostTensor::Floats values;
    for (int64_t i = 0; i < int64_t(count); ++i)
      values.push_back(start + i * delta);
    context.set(0, HostTensor::floats(type, std::move(values)));
    return success();
  }
  int64_t first = context.input(0).host().intAt(int64_t(0)),
          step = context.input(2).host().intAt(int64_t(0));
  HostTensor::Ints values;
  for (int64_t i = 0; i < int64_t(count); ++i)
    values.push_back(first + i * step);
  context.set(0, HostTensor::ints(type, std::move(values)));
  return success();
}

/// Ones on the k-th diagonal of a matrix of the input's shape.
LogicalResult eyeLike(NodeContext &context) {
  const Operand &like = context.input(0);
  if (like.rank() != 2)
    return context.error("expects its input to have rank 2");
  Emitter &emit = context.emit;
  Type element = like.elementType();
  if (const auto *dtype = context.attribute("dtype"))
    if (!(element = elementType(emit.attributes().getContext(), dtype->i())))
      return context.error("data type " + dtypeName(dtype->i()) +
                           " is not supported");
  Operand rows = emit.iota(like.shape()[0], 0, 2),
          columns = emit.iota(like.shape()[1], 1, 2);
  Operand diagonal =
      emit.binary<nn::AddOp>(rows, emit.integer(context.intAttribute("k", 0)));
  context.set(0, emit.cast(emit.compare(nn::CompareKind::eq, diagonal, columns),
                           element));
  return success();
}

/// Positions of the elements that are not zero, as [rank, count]; their number
/// must be known.
LogicalResult nonZero(NodeContext &context) {
  const Operand &input = context.input(0);
  if (!input.isConstant())
    return context.error("expects its input to be known at compile time: the "
                         "shape of its result depends on it");
  const HostTensor &host = input.host();
  if (host.elements() > Emitter::maxElements)
    return context.error("has more than " + Twine(Emitter::maxElements) +
                         " elements to look at");
  int64_t rank = std::max<int64_t>(input.rank(), 1);
  std::vector<HostTensor::Ints> positions(rank);
  for (int64_t linear = 0; linear < host.elements(); ++linear) {
    if (input.isFloat() ? host.floatAt(linear) == 0 : host.intAt(linear) == 0)
      continue;
    int64_t rest = linear;
    for (int64_t dim = input.rank() - 1; dim >= 0; --dim) {
      positions[dim].push_back(rest % input.shape()[dim]);
      rest /= input.shape()[dim];
    }
    if (input.rank() == 0)
      positions[0].push_back(0);
  }
  int64_t count = positions[0].size();
  HostTensor::Ints values;
  for (HostTensor::Ints &row : positions)
    llvm::append_range(values, row);
  context.set(0, HostTensor::ints(
                     context.emit.typeOf(
                         {rank, count}, context.emit.attributes().getI64Type()),
                     std::move(values)));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::constantDecoders() {
  static constexpr Decoder decoders[] = {
      {"Constant", 1, 0, 0, constant},
      {"ConstantOfShape", 9, 1, 1, constantOfShape},
      {"EyeLike", 9, 1, 1, eyeLike},
      {"NonZero", 9, 1, 1, nonZero},
      {"Range", 11, 3, 3, range},
      {"Shape", 1, 1, 1, shape},
      {"Size", 1, 1, 1, size},
  };
  return decoders;
}
