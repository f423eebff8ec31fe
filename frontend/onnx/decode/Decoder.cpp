// What decoders share: stored tensors, and access to a node's inputs and
// attributes, and its errors.
#include "frontend/onnx/decode/Decoder.h"
#include "frontend/onnx/graph/Exporter.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <charconv>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;
using nn::HostTensor;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;

Type shardc::onnx::elementType(MLIRContext *context, int dtype) {
  switch (dtype) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::INT64:
    return IntegerType::get(context, 64);
  case TensorProto::INT32:
    return IntegerType::get(context, 32);
  case TensorProto::INT16:
    return IntegerType::get(context, 16);
  case TensorProto::INT8:
    return IntegerType::get(context, 8);
  case TensorProto::UINT64:
    return IntegerType::get(context, 64, IntegerType::Unsigned);
  case TensorProto::UINT32:
    return IntegerType::get(context, 32, IntegerType::Unsigned);
  case TensorProto::UINT16:
    return IntegerType::get(context, 16, IntegerType::Unsigned);
  case TensorProto::UINT8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case TensorProto::BOOL:
    return IntegerType::get(context, 1);
  default:
    return nullptr;
  }
}

/// All that there are types for, in the order in which messages list them.
static constexpr int supportedTypes[] = {
    TensorProto::FLOAT,    TensorProto::DOUBLE, TensorProto::FLOAT16,
    TensorProto::BFLOAT16, TensorProto::INT64,  TensorProto::INT32,
    TensorProto::INT16,    TensorProto::INT8,   TensorProto::UINT64,
    TensorProto::UINT32,   TensorProto::UINT16, TensorProto::UINT8,
    TensorProto::BOOL};

std::string shardc::onnx::supportedTypeNames() {
  std::string text;
  for (int dtype : supportedTypes)
    text += (text.empty()                 ? ""
             : dtype == TensorProto::BOOL ? " and "
                                          : ", ") +
            dtypeName(dtype).str();
  return text;
}

std::string shardc::onnx::typeName(Type element) {
  for (int dtype : supportedTypes)
    if (elementType(element.getContext(), dtype) == element)
      return dtypeName(dtype).str();
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

//===----------------------------------------------------------------------===//
// Stored tensors
//===----------------------------------------------------------------------===//

static llvm::Error unsupportedType(int dtype) {
  return llvm::createStringError("data type " + dtypeName(dtype) +
                                 " is not supported; supported are " +
                                 supportedTypeNames());
}

/// A 16-bit float's value.
static double halfValue(int dtype, uint16_t bits) {
  const llvm::fltSemantics &semantics = dtype == TensorProto::FLOAT16
                                            ? llvm::APFloat::IEEEhalf()
                                            : llvm::APFloat::BFloat();
  return llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToDouble();
}

llvm::Expected<HostTensor> shardc::onnx::hostTensor(MLIRContext *context,
                                                    int dtype,
                                                    ArrayRef<int64_t> dims,
                                                    StringRef bytes) {
  Type element = elementType(context, dtype);
  if (!element)
    return unsupportedType(dtype);
  int64_t width = elementBytes(dtype), elements = bytes.size() / width;
  if (elements > Emitter::maxElements)
    return llvm::createStringError(
        "has " + Twine(elements) + " elements, more than the " +
        Twine(Emitter::maxElements) + " that a constant may have");
  auto type = RankedTensorType::get(dims, element);
  if (type.getNumElements() * width != int64_t(bytes.size()))
    return llvm::createStringError("has " + Twine(bytes.size()) +
                                   " bytes of data, its shape needs " +
                                   Twine(type.getNumElements() * width));
  HostTensor::Floats floats;
  HostTensor::Ints ints;
  (isa<FloatType>(element) ? (void)floats.reserve(elements)
                           : (void)ints.reserve(elements));
  for (const char *at = bytes.begin(); at != bytes.end(); at += width) {
    using namespace llvm::support::endian;
    switch (dtype) {
    case TensorProto::FLOAT:
      floats.push_back(llvm::bit_cast<float>(read32le(at)));
      break;
    case TensorProto::DOUBLE:
      floats.push_back(llvm::bit_cast<double>(read64le(at)));
      break;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      floats.push_back(halfValue(dtype, read16le(at)));
      break;
    case TensorProto::INT64:
    case TensorProto::UINT64:
      ints.push_back(int64_t(read64le(at)));
      break;
    case TensorProto::UINT32:
      ints.push_back(read32le(at));
      break;
    case TensorProto::INT16:
      ints.push_back(int16_t(read16le(at)));
      break;
    case TensorProto::UINT16:
      ints.push_back(read16le(at));
      break;
    case TensorProto::INT32:
      ints.push_back(int32_t(read32le(at)));
      break;
    case TensorProto::BOOL:
      ints.push_back(*at != 0);
      break;
    case TensorProto::INT8:
      ints.push_back(int8_t(*at));
      break;
    default:
      ints.push_back(uint8_t(*at));
      break;
    }
  }
  return isa<FloatType>(element) ? HostTensor::floats(type, std::move(floats))
                                 : HostTensor::ints(type, std::move(ints));
}

llvm::Expected<HostTensor> shardc::onnx::hostTensor(MLIRContext *context,
                                                    const TensorProto &tensor) {
  int dtype = tensor.data_type();
  Type element = elementType(context, dtype);
  if (!element)
    return unsupportedType(dtype);
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return llvm::createStringError(
        "external data is supported for initializers only");
  int64_t elements = 1;
  for (int64_t dim : tensor.dims())
    if (dim < 0 || llvm::MulOverflow(elements, dim, elements) ||
        elements > (int64_t(1) << 31))
      return llvm::createStringError(
          "its shape has a negative dim or more than 2^31 elements");
  Shape dims(tensor.dims().begin(), tensor.dims().end());
  if (tensor.has_raw_data())
    return hostTensor(context, dtype, dims, tensor.raw_data());

  HostTensor::Floats floats;
  HostTensor::Ints ints;
  if (dtype == TensorProto::FLOAT)
    floats.assign(tensor.float_data().begin(), tensor.float_data().end());
  else if (dtype == TensorProto::DOUBLE)
    floats.assign(tensor.double_data().begin(), tensor.double_data().end());
  else if (isa<FloatType>(element))
    for (int32_t bits : tensor.int32_data())
      floats.push_back(halfValue(dtype, uint16_t(bits)));
  else if (dtype == TensorProto::INT64)
    ints.assign(tensor.int64_data().begin(), tensor.int64_data().end());
  else if (dtype == TensorProto::UINT64 || dtype == TensorProto::UINT32)
    ints.assign(tensor.uint64_data().begin(), tensor.uint64_data().end());
  else
    ints.assign(tensor.int32_data().begin(), tensor.int32_data().end());
  int64_t stored = isa<FloatType>(element) ? floats.size() : ints.size();
  if (stored != elements)
    return llvm::createStringError("has " + Twine(stored) +
                                   " elements of data, its shape needs " +
                                   Twine(elements));
  auto type = RankedTensorType::get(dims, element);
  return isa<FloatType>(element) ? HostTensor::floats(type, std::move(floats))
                                 : HostTensor::ints(type, std::move(ints));
}

double shardc::onnx::asWritten(double number) {
  const auto stored = static_cast<float>(number);
  if (stored != number)
    return number;
  char text[32];
  const char *end = std::to_chars(text, std::end(text), stored).ptr;
  std::from_chars(text, end, number);
  return number;
}

std::string shardc::onnx::shapeText(ArrayRef<int64_t> shape) {
  std::string result;
  for (int64_t size : shape)
    result += (result.empty() ? "" : ", ") + std::to_string(size);
  return "[" + result + "]";
}

//===----------------------------------------------------------------------===//
// NodeContext
//===----------------------------------------------------------------------===//

NodeContext::NodeContext(const Node &node, StringRef file, Emitter &emitter,
                         SmallVector<Operand> inputs)
    : emit(emitter), node(node), file(file), inputs(std::move(inputs)) {}

static void describe(InFlightDiagnostic diagnostic, StringRef file,
                     const Node &node, const Twine &message) {
  diagnostic << "'" << file << "': node '" << node.name << "' ("
             << node.proto->op_type() << ", opset " << node.opset
             << "): " << message;
}

LogicalResult NodeContext::error(const Twine &message) const {
  describe(emitError(UnknownLoc::get(emit.attributes().getContext())), file,
           node, message);
  return failure();
}

void NodeContext::warning(const Twine &message) const {
  describe(emitWarning(UnknownLoc::get(emit.attributes().getContext())), file,
           node, message);
}

StringRef NodeContext::atenFunction() const {
  return fxTarget(*node.proto).split("aten.").second.split('.').first;
}

FailureOr<Shape> NodeContext::constantInts(size_t i, StringRef what) const {
  const Operand &operand = input(i);
  if (!operand.isConstant())
    return error("expects " + what +
                 " to be known at compile time; it depends on data of the run");
  if (operand.isFloat() || operand.rank() > 1 ||
      operand.host().elements() > Emitter::maxElements)
    return error("expects " + what + " to be a list of integers");
  Shape result;
  for (int64_t k = 0; k < operand.host().elements(); ++k)
    result.push_back(operand.host().intAt(k));
  return result;
}

FailureOr<double> NodeContext::constantFloat(size_t i, StringRef what) const {
  const Operand &operand = input(i);
  if (!operand.isConstant() || operand.host().elements() != 1)
    return error("expects " + what + " to be one number known at compile time");
  return operand.isFloat() ? operand.host().floatAt(int64_t(0))
                           : double(operand.host().intAt(int64_t(0)));
}

LogicalResult NodeContext::sameElementType(size_t first, size_t last) const {
  for (size_t i = first + 1; i <= last && i < inputs.size(); ++i)
    if (has(i) && has(first) &&
        input(i).elementType() != input(first).elementType())
      return error("expects the data type of input " + Twine(i) + " to be " +
                   typeName(input(first).elementType()) + ", got " +
                   typeName(input(i).elementType()));
  return success();
}

static std::string arityText(const Decoder &decoder) {
  std::string result = std::to_string(decoder.minInputs);
  if (decoder.maxInputs < 0)
    return result + " or more";
  return decoder.minInputs == decoder.maxInputs
             ? result
             : result + " to " + std::to_string(decoder.maxInputs);
}

LogicalResult NodeContext::expectInputs(const Decoder &decoder) const {
  auto count = int(inputs.size());
  if (count < decoder.minInputs ||
      (decoder.maxInputs >= 0 && count > decoder.maxInputs))
    return error("expects " + arityText(decoder) + " inputs, got " +
                 Twine(count));
  for (auto [position, input] : llvm::enumerate(inputs))
    if (!input && (int(position) < decoder.minInputs || decoder.maxInputs < 0))
      return error("its input " + Twine(position) + " is missing");
  return success();
}

LogicalResult NodeContext::expectFloat(size_t i) const {
  if (input(i).isFloat())
    return success();
  return error("expects input " + Twine(i) + " to be of a float type, got " +
               typeName(input(i).elementType()));
}

LogicalResult NodeContext::expectBool(size_t i) const {
  if (input(i).elementType().isInteger(1))
    return success();
  return error("expects input " + Twine(i) + " to be bool, got " +
               typeName(input(i).elementType()));
}

FailureOr<Shape> NodeContext::broadcastShape(ArrayRef<Operand> operands) const {
  if (auto shape = Emitter::broadcastShape(operands)) {
    if (failed(checkShape(*shape)))
      return failure();
    return *shape;
  }
  std::string shapes;
  for (const Operand &operand : operands)
    shapes += (shapes.empty() ? "" : " and ") + shapeText(operand.shape());
  return error("shapes " + shapes +
               " do not broadcast against each other; check the --dim flags");
}

const AttributeProto *NodeContext::attribute(StringRef name) const {
  for (const AttributeProto &attribute : node.proto->attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

const AttributeProto *
NodeContext::attribute(StringRef name,
                       AttributeProto::AttributeType type) const {
  const AttributeProto *found = attribute(name);
  // The first writers of the format left the type out.
  if (!found || found->type() == type ||
      found->type() == AttributeProto::UNDEFINED)
    return found;
  wrongAttribute = ("its attribute '" + name + "' is of type " +
                    AttributeProto::AttributeType_Name(found->type()) +
                    ", expected " + AttributeProto::AttributeType_Name(type))
                       .str();
  return nullptr;
}

int64_t NodeContext::intAttribute(StringRef name, int64_t otherwise) const {
  const AttributeProto *found = attribute(name, AttributeProto::INT);
  return found ? found->i() : otherwise;
}

double NodeContext::floatAttribute(StringRef name, double otherwise) const {
  const AttributeProto *found = attribute(name, AttributeProto::FLOAT);
  return found ? double(found->f()) : otherwise;
}

double NodeContext::decimalAttribute(StringRef name, double otherwise) const {
  return asWritten(floatAttribute(name, otherwise));
}

StringRef NodeContext::stringAttribute(StringRef name,
                                       StringRef otherwise) const {
  const AttributeProto *found = attribute(name, AttributeProto::STRING);
  return found ? StringRef(found->s()) : otherwise;
}

std::optional<Shape> NodeContext::intsAttribute(StringRef name) const {
  const AttributeProto *found = attribute(name, AttributeProto::INTS);
  if (!found)
    return std::nullopt;
  return Shape(found->ints().begin(), found->ints().end());
}

FailureOr<int64_t> NodeContext::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return error("axis " + Twine(axis) + " is out of range for rank " +
                 Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<Shape> NodeContext::axes(ArrayRef<int64_t> axes, int64_t rank) const {
  Shape result;
  for (int64_t value : axes) {
    FailureOr<int64_t> positive = axis(value, rank);
    if (failed(positive))
      return failure();
    if (llvm::is_contained(result, *positive))
      return error("axis " + Twine(*positive) + " is given twice");
    result.push_back(*positive);
  }
  return result;
}

LogicalResult NodeContext::checkShape(ArrayRef<int64_t> shape) const {
  int64_t elements = 1;
  for (int64_t dim : shape) {
    if (dim < 0)
      return error("its result has the negative dim " + Twine(dim));
    if (llvm::MulOverflow(elements, dim, elements) ||
        elements > (int64_t(1) << 40))
      return error("its result has more than 2^40 elements");
  }
  return success();
}
