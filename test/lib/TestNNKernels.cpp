// test-nn-kernels: compares every op's kernel body with its reference
// evaluation, in the functions of a module and in their training steps.
#include "LinalgInterpreter.h"
#include "TestInputs.h"
#include "TestPasses.h"

#include "NNInterpreter.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shardc;

namespace {

struct TestNNKernels : PassWrapper<TestNNKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestNNKernels)
  TestNNKernels() = default;
  TestNNKernels(const TestNNKernels &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-nn-kernels"; }
  StringRef getDescription() const override {
    return "compares kernel bodies with reference evaluation";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<nn::NNDialect, func::FuncDialect, arith::ArithDialect,
                    linalg::LinalgDialect, math::MathDialect,
                    tensor::TensorDialect>();
  }

  Option<bool> requireAll{
      *this, "require-all",
      llvm::cl::desc("fail where an op that has a kernel is not tested")};
  Option<bool> differentiate{
      *this, "differentiate",
      llvm::cl::desc("test the ops of the functions' training steps")};

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (func::FuncOp function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (failed(differentiate
                     ? checkTraining(module, function)
                     : check(function, test::makeInputs(function), {})))
        return signalPassFailure();
    if (!requireAll)
      return;
    for (RegisteredOperationName name :
         getContext().getRegisteredOperationsByDialect("nn"))
      if (name.hasInterface<nn::KernelBody>() &&
          !tested.contains(name.getStringRef())) {
        emitError(module.getLoc()) << "'" << name << "' is not tested";
        signalPassFailure();
      }
  }

private:
  LogicalResult checkTraining(ModuleOp module, func::FuncOp function) {
    ModuleOp model = test::makeModel(module, function);
    OpPassManager pipeline("builtin.module");
    pipeline.addPass(createNNDifferentiate());
    if (failed(runPipeline(pipeline, model)))
      return failure();
    SmallVector<nn::HostTensor> inputs;
    llvm::StringMap<nn::HostTensor> parameters;
    for (auto [index, input] : llvm::enumerate(test::makeInputs(function))) {
      if (!input.isFloat() || function.getArgAttr(index, "test.constant"))
        inputs.push_back(input);
      else
        parameters[llvm::Twine(index).str()] = input;
    }
    auto train = model.lookupSymbol<func::FuncOp>("train");
    LogicalResult result = check(train, inputs, parameters);
    model.erase();
    return result;
  }

  LogicalResult check(func::FuncOp function, ArrayRef<nn::HostTensor> inputs,
                      const llvm::StringMap<nn::HostTensor> &parameters) {
    llvm::DenseMap<Value, nn::HostTensor> values;
    for (auto [argument, input] :
         llvm::zip_equal(function.getArguments(), inputs))
      values[argument] = input;
    for (Operation &op :
         llvm::make_early_inc_range(function.front().without_terminator())) {
      if (auto get = dyn_cast<nn::GetParameterOp>(op)) {
        values[get] = parameters.lookup(get.getParameter());
        continue;
      }
      SmallVector<nn::HostTensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.lookup(operand));
      auto results = test::evaluateOp(&op, operands);
      if (!results)
        return failure();
      for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results)) {
        if (tensor.type() != value.getType())
          return op.emitOpError("evaluates to ")
                 << tensor.type() << ", expected " << value.getType();
        values[value] = tensor;
      }
      if (isa<nn::KernelBody>(op) && failed(compare(&op, operands, *results)))
        return failure();
    }
    return success();
  }

  /// Runs the kernel of one op.
  LogicalResult compare(Operation *op, ArrayRef<nn::HostTensor> operands,
                        ArrayRef<nn::HostTensor> expected) {
    tested.insert(op->getName().getStringRef());
    auto builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto kernel = func::FuncOp::create(
        builder, op->getLoc(), "kernel",
        builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
    Block *body = kernel.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    SmallVector<Value> results;
    if (failed(cast<nn::KernelBody>(op).buildKernel(
            builder, body->getArguments(), results)))
      return failure();
    func::ReturnOp::create(builder, op->getLoc(), results);
    if (failed(verify(kernel)))
      return failure();
    auto got = test::runKernel(kernel, operands);
    if (!got)
      return failure();
    for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(*got, expected)))
      if (failed(compare(op, index, std::get<0>(pair), std::get<1>(pair))))
        return failure();
    kernel.erase();
    return success();
  }

  static LogicalResult compare(Operation *op, int64_t result,
                               const nn::HostTensor &got,
                               const nn::HostTensor &expected) {
    if (got.type() != expected.type())
      return op->emitOpError("has a kernel of type ")
             << got.type() << ", expected " << expected.type();
    double largest = 0;
    for (double value : expected.toFloats())
      if (std::isfinite(value))
        largest = std::max(largest, std::abs(value));
    const double tolerance = largest * unitOf(expected.elementType());
    for (int64_t i = 0; i < expected.elements(); ++i) {
      const double x = got.floatAt(i), y = expected.floatAt(i);
      const bool same = x == y || (std::isnan(x) && std::isnan(y));
      if (!same && !(std::abs(x - y) <= tolerance))
        return op->emitOpError("expects element ")
               << i << " of result " << result << " to be " << y
               << ", the kernel gives " << x;
    }
    return success();
  }

  /// What rounding may add up to, relative to the largest element.
  static double unitOf(Type type) {
    if (!isa<FloatType>(type))
      return 0;
    return type.isF64()    ? 1e-14
           : type.isF32()  ? 2e-6
           : type.isBF16() ? 0x1p-7
                           : 0x1p-9;
  }

  llvm::StringSet<> tested;
};

} // namespace

void shardc::test::registerNNKernelsPass() {
  PassRegistration<TestNNKernels>();
}
