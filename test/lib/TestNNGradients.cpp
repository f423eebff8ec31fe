// test-nn-gradients: differentiates each function of a module and compares with
// finite differences, in float64 by reference evaluation.
#include "TestInputs.h"
#include "TestPasses.h"

#include "NNInterpreter.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shardc;

namespace {

/// Arguments of the model, split as makeModel splits them.
struct Point {
  SmallVector<nn::HostTensor> inputs;         // of @model
  llvm::StringMap<nn::HostTensor> parameters; // by name

  std::optional<SmallVector<nn::HostTensor>> run(func::FuncOp function) {
    return test::evaluateFunction(
        function, inputs, [&](nn::GetParameterOp get) {
          return parameters.lookup(get.getParameter());
        });
  }
};

struct TestNNGradients : PassWrapper<TestNNGradients, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestNNGradients)
  TestNNGradients() = default;
  TestNNGradients(const TestNNGradients &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-nn-gradients"; }
  StringRef getDescription() const override {
    return "compares the gradients of every function with finite differences";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<nn::NNDialect, func::FuncDialect>();
  }

  Option<bool> requireAll{
      *this, "require-all",
      llvm::cl::desc("fail where an op that is Differentiable is not tested")};
  Option<double> tolerance{
      *this, "tolerance", llvm::cl::init(1e-9),
      llvm::cl::desc("largest error, relative to the gradient's largest "
                     "element or 1")};

  Option<bool> skipKinks{
      *this, "skip-kinks",
      llvm::cl::desc("says nothing of an element at which the slope jumps")};

  Option<int64_t> most{*this, "most", llvm::cl::init(1 << 20),
                       llvm::cl::desc("elements of an argument, evenly spread, "
                                      "that are looked at")};

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringSet<> tested;
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      function.walk(
          [&](Operation *op) { tested.insert(op->getName().getStringRef()); });
      if (failed(check(module, function)))
        signalPassFailure();
    }
    if (!requireAll)
      return;
    for (RegisteredOperationName name :
         getContext().getRegisteredOperationsByDialect("nn"))
      if (name.hasInterface<nn::Differentiable>() &&
          !tested.contains(name.getStringRef())) {
        emitError(module.getLoc()) << "'" << name << "' is not tested";
        signalPassFailure();
      }
  }

  LogicalResult check(ModuleOp module, func::FuncOp function) {
    ModuleOp model = test::makeModel(module, function);
    OpPassManager pipeline("builtin.module");
    pipeline.addPass(createNNDifferentiate());
    if (failed(runPipeline(pipeline, model)))
      return failure();
    Point point = split(function);
    auto train = model.lookupSymbol<func::FuncOp>("train");
    auto eval = model.lookupSymbol<func::FuncOp>("eval");
    auto results = point.run(train);
    if (!results)
      return failure();

    double worst = 0;
    for (unsigned i = 1; i < train.getNumResults(); ++i) {
      const std::string name =
          train.getResultAttrOfType<FlatSymbolRefAttr>(i, "nn.gradient_of")
              .getValue()
              .str();
      const nn::HostTensor gradient = (*results)[i];
      const nn::HostTensor original = point.parameters.lookup(name);
      double largest = 1;
      for (double value : gradient.toFloats())
        largest = std::max(largest, std::abs(value));
      const int64_t stride = (original.elements() + most - 1) / most;
      for (int64_t element = 0; element < original.elements();
           element += stride) {
        const double found = gradient.floatAt(element);
        double expected = difference(point, eval, name, element, 5e-4);
        double error = std::abs(found - expected) / largest;
        if (skipKinks && !(error <= tolerance)) {
          // A kink beside the point is out of reach of a smaller step.
          constexpr double step = 2e-7;
          expected = difference(point, eval, name, element, step);
          error = std::abs(found - expected) / largest;
          if (!(error <= tolerance) &&
              isKink(point, eval, name, element, step, largest))
            continue;
        }
        // Written so that a NaN is an error.
        if (!(error <= tolerance))
          return emitError(function.getLoc())
                 << "expects the gradient of argument " << name
                 << " at element " << element << " to be " << expected
                 << ", got " << found;
        worst = std::max(worst, error);
      }
      point.parameters[name] = original;
    }
    emitRemark(function.getLoc()) << train.getNumResults() - 1
                                  << " gradients agree with finite differences";
    model.erase();
    return success();
  }

  static Point split(func::FuncOp function) {
    Point point;
    for (auto [index, input] : llvm::enumerate(test::makeInputs(function))) {
      if (!input.isFloat() || function.getArgAttr(index, "test.constant"))
        point.inputs.push_back(input);
      else
        point.parameters[llvm::Twine(index).str()] = input;
    }
    return point;
  }

  /// The loss where an element has moved by `offset`.
  static double lossAt(Point &point, func::FuncOp eval, const std::string &name,
                       int64_t element, double offset) {
    const nn::HostTensor original = point.parameters.lookup(name);
    nn::HostTensor::Floats values = original.toFloats();
    values[element] += offset;
    point.parameters[name] =
        nn::HostTensor::floats(original.type(), std::move(values));
    auto results = point.run(eval);
    point.parameters[name] = original;
    return results ? results->front().floatAt(int64_t(0))
                   : std::numeric_limits<double>::quiet_NaN();
  }

  /// The five-point rule: its error is h^4 f^(5) / 30.
  static double difference(Point &point, func::FuncOp eval,
                           const std::string &name, int64_t element, double h) {
    auto at = [&](double offset) {
      return lossAt(point, eval, name, element, offset);
    };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  }

  /// Whether the slopes on the two sides of an element differ.
  static bool isKink(Point &point, func::FuncOp eval, const std::string &name,
                     int64_t element, double h, double largest) {
    auto at = [&](double offset) {
      return lossAt(point, eval, name, element, offset);
    };
    const double right = (at(2 * h) - at(h)) / h,
                 left = (at(-h) - at(-2 * h)) / h;
    // Written so that a NaN, or a jump, is one.
    return !(std::abs(right - left) <= 1e-3 * largest) ||
           !(std::abs(at(h) - at(-h)) <= 1e3 * h * largest);
  }
};

} // namespace

void shardc::test::registerNNGradientsPass() {
  PassRegistration<TestNNGradients>();
}
