// --dim: a symbolic dim is bound by its name, one without a name by INPUT.AXIS.
#include "frontend/onnx/GraphDims.h"
#include "frontend/onnx/decode/Decoder.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// A symbolic dim and where it occurs first.
struct Symbol {
  std::string input;
  int axis;
};

/// The name of a dim of an input that has no size.
std::string symbolOf(const ::onnx::TensorShapeProto::Dimension &dim,
                     const std::string &input, int axis) {
  return dim.dim_param().empty() ? input + "." + std::to_string(axis)
                                 : dim.dim_param();
}

class Binder {
public:
  Binder(MLIRContext *context, const ModelFile &file,
         const llvm::StringMap<int64_t> &dims)
      : context(context), file(file), dims(dims) {}

  FailureOr<SmallVector<GraphInput>> run() {
    SmallVector<GraphInput> result;
    for (const auto &input : file.graph().input()) {
      if (file.find(input.name())) // IR 3 lists initializers as inputs too
        continue;
      GraphInput bound;
      bound.name = input.name();
      if (failed(bind(input, bound)))
        return failure();
      result.push_back(std::move(bound));
    }
    if (failed(checkNames()))
      return failure();
    return result;
  }

private:
  LogicalResult fail(const Twine &message) {
    return emitError(UnknownLoc::get(context))
           << "'" << file.path() << "': " << message;
  }

  LogicalResult bind(const ::onnx::ValueInfoProto &input, GraphInput &bound) {
    const std::string &name = input.name();
    if (name.empty())
      return fail("an input has no name");
    if (!input.type().has_tensor_type())
      return fail("input '" + name +
                  "' is not a tensor; only tensors are supported");
    const auto &tensor = input.type().tensor_type();
    Type element = elementType(context, tensor.elem_type());
    if (!element)
      return fail("input '" + name + "' has data type " +
                  dtypeName(tensor.elem_type()) +
                  ", which is not supported; supported are " +
                  supportedTypeNames());
    if (!tensor.has_shape())
      return fail("input '" + name + "' has no shape; export it with one");
    Shape shape;
    int64_t elements = 1;
    for (auto [axis, dim] : llvm::enumerate(tensor.shape().dim())) {
      int64_t size = dim.dim_value();
      if (!dim.has_dim_value()) {
        std::string symbol = symbolOf(dim, name, int(axis));
        symbols.try_emplace(symbol, Symbol{name, int(axis)});
        auto given = dims.find(symbol);
        size = given == dims.end() ? 1 : given->second;
        if (size <= 0)
          return fail("--dim " + symbol + "=" + Twine(size) +
                      ": expects a positive number");
      } else {
        fixedDims[name + "." + std::to_string(axis)] = size;
        if (size < 0)
          return fail("dim " + Twine(axis) + " of input '" + name + "' is " +
                      Twine(size) + ", expects 0 or more");
      }
      if (llvm::MulOverflow(elements, size, elements) ||
          elements > (int64_t(1) << 31))
        return fail("input '" + name + "' has more than 2^31 elements");
      shape.push_back(size);
    }
    bound.type = RankedTensorType::get(shape, element);
    return success();
  }

  LogicalResult checkNames() {
    std::string unbound, flags;
    for (auto &[symbol, where] : symbols) {
      if (dims.count(symbol))
        continue;
      unbound += (unbound.empty() ? "dim '" : ", dim '") + symbol + "' (axis " +
                 std::to_string(where.axis) + " of input '" + where.input +
                 "')";
      flags += " --dim " + symbol + "=N";
    }
    // One that is misspelt looks like one that is missing.
    std::string unknown;
    for (const auto &given : dims)
      if (StringRef name = given.getKey();
          !symbols.count(name.str()) && !fixedDims.count(name))
        unknown += "; --dim " + name.str() + "=" +
                   std::to_string(given.getValue()) + " names none";
    if (!unbound.empty())
      return fail(unbound + " has no size; pass" + flags + unknown);
    for (const auto &given : dims) {
      if (symbols.count(given.getKey().str()))
        continue;
      if (auto fixed = fixedDims.find(given.getKey()); fixed != fixedDims.end())
        return fail("--dim " + given.getKey() + "=" + Twine(given.getValue()) +
                    ": the model fixes this dim to " + Twine(fixed->second) +
                    "; export it with a symbolic dim");
      std::string known;
      for (auto &[symbol, where] : symbols)
        known += (known.empty() ? "" : ", ") + symbol;
      return fail("--dim " + given.getKey() + "=" + Twine(given.getValue()) +
                  ": no input has a dim of this name; " +
                  (known.empty() ? "all dims are fixed"
                                 : "the model's dims are " + known));
    }
    return success();
  }

  MLIRContext *context;
  const ModelFile &file;
  const llvm::StringMap<int64_t> &dims;
  llvm::MapVector<std::string, Symbol, std::map<std::string, unsigned>> symbols;
  llvm::StringMap<int64_t> fixedDims;
};

} // namespace

FailureOr<SmallVector<GraphInput>>
shardc::onnx::bindInputs(MLIRContext *context, const ModelFile &file,
                         const llvm::StringMap<int64_t> &dims) {
  return Binder(context, file, dims).run();
}

/// Floats, integers or booleans: exporters may declare another width.
static unsigned kindOf(Type type) {
  return isa<FloatType>(type) ? 0 : type.isInteger(1) ? 1 : 2;
}

std::vector<std::string> shardc::onnx::batchDims(const ModelFile &file) {
  std::vector<std::string> result;
  for (const auto &input : file.graph().input()) {
    const auto &shape = input.type().tensor_type().shape();
    if (!file.find(input.name()) && shape.dim_size() > 0 &&
        !shape.dim(0).has_dim_value())
      if (std::string name = symbolOf(shape.dim(0), input.name(), 0);
          !llvm::is_contained(result, name))
        result.push_back(name);
  }
  return result;
}

llvm::Error shardc::onnx::checkOutput(const ::onnx::ValueInfoProto &output,
                                      RankedTensorType computed) {
  const auto &declared = output.type().tensor_type();
  if (!output.type().has_tensor_type())
    return llvm::Error::success();
  ArrayRef<int64_t> shape = computed.getShape();
  Type type = computed.getElementType();
  if (Type wanted = elementType(type.getContext(), declared.elem_type());
      wanted && kindOf(wanted) != kindOf(type))
    return llvm::createStringError("output '" + output.name() +
                                   "' is declared as " +
                                   dtypeName(declared.elem_type()) +
                                   ", the graph computes " + typeName(type));
  if (!declared.has_shape())
    return llvm::Error::success();
  if (int64_t(shape.size()) != declared.shape().dim_size())
    return llvm::createStringError(
        "output '" + output.name() + "' is declared with rank " +
        Twine(declared.shape().dim_size()) + ", the graph computes rank " +
        Twine(shape.size()));
  for (auto [index, dim] : llvm::enumerate(declared.shape().dim()))
    if (dim.has_dim_value() && dim.dim_value() > 0 &&
        dim.dim_value() != shape[index])
      return llvm::createStringError(
          "dim " + Twine(index) + " of output '" + output.name() +
          "' is declared as " + Twine(dim.dim_value()) +
          ", the graph computes " + Twine(shape[index]) +
          "; check the --dim flags");
  return llvm::Error::success();
}
