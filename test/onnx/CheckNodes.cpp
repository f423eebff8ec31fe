// ONNX's operator tests: imports each test's model, evaluates it op by op on
// the host, and compares with the expected outputs. Inputs that must be known
// at compile time (shapes, axes) are stored in the model for a second try.
#include "frontend/onnx/Import.h"
#include "frontend/onnx/ImportedModel.h"
#include "frontend/onnx/decode/Decoder.h"
#include "passes/Passes.h"
#include "test/lib/NNInterpreter.h"
#include "test/lib/TestPasses.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>

using namespace mlir;
using namespace shardc;
using nn::HostTensor;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

namespace {

template <typename Message>
bool parseFile(const std::string &path, Message &message) {
  std::ifstream file(path, std::ios::binary);
  return file && message.ParseFromIstream(&file);
}

/// The tensors of one test, input_0.pb and so on.
std::vector<TensorProto> tensorsOf(const std::string &folder,
                                   const std::string &kind) {
  std::vector<TensorProto> result;
  for (int i = 0;; ++i) {
    TensorProto tensor;
    if (!parseFile(folder + "/test_data_set_0/" + kind + "_" +
                       std::to_string(i) + ".pb",
                   tensor))
      return result;
    result.push_back(std::move(tensor));
  }
}

/// Floats of a model and of its inputs become float64.
void widen(MLIRContext *context, ModelProto &model,
           std::vector<TensorProto> &inputs) {
  auto isNarrow = [](int dtype) {
    return dtype == TensorProto::FLOAT || dtype == TensorProto::FLOAT16 ||
           dtype == TensorProto::BFLOAT16;
  };
  auto widenTensor = [&](TensorProto &tensor) {
    if (!isNarrow(tensor.data_type()))
      return;
    auto host = shardc::onnx::hostTensor(context, tensor);
    if (!host)
      return llvm::consumeError(host.takeError());
    TensorProto wide;
    wide.set_name(tensor.name());
    wide.set_data_type(TensorProto::DOUBLE);
    *wide.mutable_dims() = tensor.dims();
    for (double value : host->toFloats())
      wide.add_double_data(value);
    tensor = std::move(wide);
  };
  for (TensorProto &input : inputs)
    widenTensor(input);
  auto &graph = *model.mutable_graph();
  for (TensorProto &initializer : *graph.mutable_initializer())
    widenTensor(initializer);
  for (auto *values : {graph.mutable_input(), graph.mutable_output()})
    for (auto &value : *values) {
      auto &tensor = *value.mutable_type()->mutable_tensor_type();
      if (isNarrow(tensor.elem_type()))
        tensor.set_elem_type(TensorProto::DOUBLE);
    }
  // The statistics of a norm stay float32, whose rounding differences show.
  if (graph.node_size() > 0 && graph.node(0).op_type() == "LayerNormalization")
    graph.mutable_output()->DeleteSubrange(1, graph.output_size() - 1);
  for (auto &node : *graph.mutable_node())
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t())
        widenTensor(*attribute.mutable_t());
      bool isType = attribute.name() == "to" || attribute.name() == "dtype";
      if (isType && node.op_type() != "BitCast" && isNarrow(attribute.i()))
        attribute.set_i(TensorProto::DOUBLE);
    }
}

/// Whether no input is more than a shape or the bounds of a range.
bool saysShapes(ArrayRef<TensorProto> inputs) {
  return llvm::all_of(inputs, [](const TensorProto &input) {
    return input.dims_size() == 0 ||
           (input.dims_size() == 1 && input.data_type() == TensorProto::INT64);
  });
}

/// Inputs that are no floats become initializers, and floats that say how
/// sizes change, or all inputs; others are `rest`.
ModelProto withStoredIntegers(const ModelProto &model,
                              ArrayRef<TensorProto> inputs, bool all,
                              std::vector<TensorProto> &rest) {
  ModelProto result = model;
  auto &graph = *result.mutable_graph();
  graph.clear_input();
  for (int i = 0; i < model.graph().input_size(); ++i) {
    TensorProto tensor = inputs[i];
    tensor.set_name(model.graph().input(i).name());
    bool isData = i == 0 || tensor.data_type() == TensorProto::FLOAT ||
                  tensor.data_type() == TensorProto::DOUBLE;
    isData &= tensor.name() != "scales" && tensor.name() != "roi";
    if (!all && isData && !(tensor.dims_size() == 0 && i > 0)) {
      rest.push_back(inputs[i]);
      *graph.add_input() = model.graph().input(i);
    } else {
      *graph.add_initializer() = tensor;
    }
  }
  return result;
}

/// Sets `message` where they do not.
bool agree(const HostTensor &got, const HostTensor &expected,
           std::string &message) {
  if (got.type() != expected.type()) {
    message = "has a result of another type than expected";
    return false;
  }
  Type element = got.elementType();
  double relative = element.isF16()    ? 1e-2
                    : element.isBF16() ? 2e-2
                                       : 1e-3,
         absolute = element.isF16() ? 1e-3 : 1e-5;
  for (int64_t i = 0; i < got.elements(); ++i) {
    double a = got.isFloat() ? got.floatAt(i) : double(got.intAt(i));
    double b = got.isFloat() ? expected.floatAt(i) : double(expected.intAt(i));
    bool same =
        a == b || (std::isnan(a) && std::isnan(b)) ||
        (got.isFloat() && std::abs(a - b) <= absolute + relative * std::abs(b));
    if (!same) {
      message = "element " + std::to_string(i) + " is " + std::to_string(a) +
                ", expects " + std::to_string(b);
      return false;
    }
  }
  return true;
}

enum class Outcome { passed, unsupported, failed };

class NodeTest {
public:
  NodeTest(std::string folder, std::string scratch)
      : folder(std::move(folder)), scratch(std::move(scratch)) {
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
  }

  Outcome run() {
    ModelProto model;
    if (!parseFile(folder + "/model.onnx", model))
      return Outcome::failed;
    inputs = tensorsOf(folder, "input");
    outputs = tensorsOf(folder, "output");
    if (model.graph().input_size() != int(inputs.size()) ||
        model.graph().output_size() != int(outputs.size())) {
      message = "has inputs or outputs that are no tensors";
      return Outcome::unsupported;
    }
    std::string first;
    Outcome outcome = tryAll(model, &NodeTest::run, &first);
    if (outcome == Outcome::unsupported)
      message = first;
    return outcome;
  }

  /// Whether gradients agree with differences, in float64; what has none is
  /// unsupported.
  Outcome runGradients() {
    ModelProto model;
    if (!parseFile(folder + "/model.onnx", model))
      return Outcome::failed;
    inputs = tensorsOf(folder, "input");
    if (model.graph().input_size() != int(inputs.size()))
      return Outcome::unsupported;
    widen(&context, model, inputs);
    return tryAll(model, &NodeTest::runGradients);
  }

  std::string message;

private:
  using Try = Outcome (NodeTest::*)(const ModelProto &, ArrayRef<TensorProto>);
  /// As it is, and where that is not supported with inputs that are stored.
  /// `first` is what was said of the first try.
  Outcome tryAll(const ModelProto &model, Try attempt,
                 std::string *first = nullptr) {
    Outcome outcome = (this->*attempt)(model, inputs);
    if (first)
      *first = message;
    for (bool all : {false, true}) {
      if (outcome != Outcome::unsupported || (all && !saysShapes(inputs)))
        break;
      std::vector<TensorProto> rest;
      ModelProto fixed = withStoredIntegers(model, inputs, all, rest);
      outcome = (this->*attempt)(fixed, rest);
    }
    return outcome;
  }

  /// The values of a function's arguments; none after an error.
  std::optional<SmallVector<HostTensor>>
  argumentsOf(ArrayRef<TensorProto> given) {
    SmallVector<HostTensor> arguments;
    for (const TensorProto &input : given) {
      if (llvm::is_contained(input.dims(), 0))
        continue; // known to the importer
      auto host = shardc::onnx::hostTensor(&context, input);
      if (!host) {
        message = llvm::toString(host.takeError());
        return std::nullopt;
      }
      arguments.push_back(*host);
    }
    return arguments;
  }

  Outcome runGradients(const ModelProto &model, ArrayRef<TensorProto> given);

  OwningOpRef<ModuleOp> importModel(const ModelProto &model) {
    std::string path = scratch + "/node-test.onnx";
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    shardc::onnx::ImportOptions options;
    options.path = path;
    return shardc::onnx::importOnnx(&context, options, diagnostics);
  }

  Outcome run(const ModelProto &model, ArrayRef<TensorProto> given);

  std::string folder, scratch;
  MLIRContext context;
  shardc::onnx::ImportDiagnostics diagnostics;
  std::vector<TensorProto> inputs, outputs;
};

Outcome NodeTest::runGradients(const ModelProto &model,
                               ArrayRef<TensorProto> given) {
  OwningOpRef<ModuleOp> module = importModel(model);
  if (!module)
    return Outcome::unsupported;
  auto function = *module->getOps<func::FuncOp>().begin();
  auto arguments = argumentsOf(given);
  if (!arguments)
    return Outcome::unsupported;
  bool hasFloats = false;
  for (auto [index, host] : llvm::enumerate(*arguments)) {
    hasFloats |= host.isFloat();
    function.setArgAttr(index, "test.values", host.toAttribute());
  }
  bool givesFloats = llvm::any_of(function.getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
  if (!hasFloats || !givesFloats) {
    message = "has no gradient";
    return Outcome::unsupported;
  }
  PassManager passes(&context);
  if (failed(parsePassPipeline(
          "test-nn-gradients{tolerance=1e-6 skip-kinks=1 most=12}", passes)))
    return Outcome::failed;
  if (succeeded(passes.run(*module)))
    return Outcome::passed;
  // What has none is refused by name: masks, tables of angles, statistics.
  bool isRefused =
      StringRef(message).contains("has no gradient of its") ||
      StringRef(message).contains("that reaches the loss, got none");
  return isRefused ? Outcome::unsupported : Outcome::failed;
}

Outcome NodeTest::run(const ModelProto &model, ArrayRef<TensorProto> given) {
  OwningOpRef<ModuleOp> module = importModel(model);
  if (!module)
    return Outcome::unsupported;
  auto function = *module->getOps<func::FuncOp>().begin();
  auto arguments = argumentsOf(given);
  if (!arguments)
    return Outcome::unsupported;
  auto stored = [&](nn::GetParameterOp op) {
    auto parameter = module->lookupSymbol<nn::ParameterOp>(op.getParameter());
    const shardc::onnx::ModelFile &file = *diagnostics.model->file;
    const shardc::onnx::Initializer &initializer =
        *file.find(parameter.getInitializer());
    HostTensor host = cantFail(
        shardc::onnx::hostTensor(&context, initializer.dtype, initializer.dims,
                                 cantFail(file.read(*initializer.bytes))));
    return parameter.getTransposed() ? host.transposed({1, 0}) : host;
  };
  auto results = test::evaluateFunction(function, *arguments, stored);
  if (!results)
    return Outcome::failed;
  for (auto [index, result] : llvm::enumerate(*results)) {
    auto expected = shardc::onnx::hostTensor(&context, outputs[index]);
    if (!expected) {
      message = llvm::toString(expected.takeError());
      return Outcome::unsupported;
    }
    if (!agree(result, *expected, message))
      return Outcome::failed;
  }
  return Outcome::passed;
}

/// "(Conv, opset 22)" of an importer's message.
std::string operatorOf(const std::string &message) {
  size_t open = message.find("' ("), close = message.find(", opset", open);
  return open == std::string::npos || close == std::string::npos
             ? "?"
             : message.substr(open + 3, close - open - 3);
}

} // namespace

/// Folders of tests. Prints each failure, and what is not supported by operator.
/// --gradients: compares gradients with differences, in place of results.
int main(int argc, char **argv) {
  bool gradients = argc > 1 && StringRef(argv[1]) == "--gradients";
  if (gradients) {
    --argc, ++argv;
    shardc::test::registerNNGradientsPass();
  }
  if (argc < 3) {
    std::cerr << "usage: check-onnx-nodes [--gradients] SCRATCH_FOLDER "
                 "FOLDER_OF_TESTS...\n";
    return 2;
  }
  int passed = 0, failed = 0, unsupported = 0;
  std::map<std::string, int> operators;
  for (int i = 2; i < argc; ++i) {
    std::vector<std::string> folders;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator at(argv[i], error), end;
         at != end && !error; at.increment(error))
      folders.push_back(at->path());
    llvm::sort(folders);
    for (const std::string &folder : folders) {
      NodeTest test(folder, argv[1]);
      Outcome outcome = gradients ? test.runGradients() : test.run();
      passed += outcome == Outcome::passed;
      failed += outcome == Outcome::failed;
      unsupported += outcome == Outcome::unsupported;
      std::string name = llvm::sys::path::filename(folder).str();
      if (outcome == Outcome::failed)
        std::cout << "failed: " << name << ": " << test.message << "\n";
      if (outcome == Outcome::unsupported && !gradients) {
        if (test.message.find("the operator is not supported") ==
            std::string::npos)
          std::cout << "unsupported: " << name << ": " << test.message << "\n";
        ++operators[operatorOf(test.message)];
      }
    }
  }
  if (!gradients) {
    std::cout << "unsupported operators:";
    for (auto &[name, count] : operators)
      std::cout << " " << name << " " << count;
    std::cout << "\n";
  }
  std::cout << passed << " passed, " << unsupported
            << (gradients ? " without gradients, " : " unsupported, ") << failed
            << " failed\n";
  return failed ? 1 : 0;
}
