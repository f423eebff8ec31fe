// test-step-kernels: compiles functions of nn ops, runs them here, and compares
// with the ops' reference evaluation.
#include "Deviation.h"
#include "KernelProgram.h"
#include "NNInterpreter.h"
#include "TensorBytes.h"
#include "TestPasses.h"

#include "codegen/Passes.h"
#include "codegen/kernels/KernelFunction.h"
#include "codegen/kernels/LoopNest.h"
#include "codegen/step/View.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace shardc;
using nn::HostTensor;
using test::Bytes;

namespace {

/// The module stays as it is. Each function, which has no parameters and which
/// step-outline-kernels can take, is evaluated op by op in float64; a copy is
/// outlined, compiled and run on the same random inputs. Results must agree
/// within rounding, and every kernel must give the same bits when its work items
/// (a GPU's blocks) are run one by one, and in the place of every argument where
/// step-write-in-place may put a result. Arguments may carry `step.low` and
/// `step.high`, the range of their values.
class TestStepKernels
    : public PassWrapper<TestStepKernels, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestStepKernels)
  TestStepKernels() = default;
  TestStepKernels(const TestStepKernels &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-step-kernels"; }
  StringRef getDescription() const override {
    return "runs functions of nn ops as kernels and compares with the ops' "
           "reference evaluation";
  }
  void runOnOperation() override;

  Option<std::string> cpu{
      *this, "cpu", llvm::cl::init("native"),
      llvm::cl::desc("the CPU to generate code for; must run here")};
  Option<bool> emulateGpu{
      *this, "emulate-gpu",
      llvm::cl::desc("run what GPUs would, thread by thread, on the CPU")};
  Option<std::string> emulatePtx{
      *this, "emulate-ptx",
      llvm::cl::desc(
          "run the PTX of this GPU (sm_90), thread by thread, on the "
          "CPU")};
  Option<bool> bench{
      *this, "bench",
      llvm::cl::desc("print what each kernel takes, beside a copy of the bytes "
                     "it moves")};
  Option<bool> compareUnfused{
      *this, "compare-unfused",
      llvm::cl::desc("each op as a kernel of its own must give the same bits")};

private:
  std::optional<test::KernelProgram> compile(bool fuse);
  LogicalResult testFunction(func::FuncOp function,
                             const test::KernelProgram &fused,
                             const test::KernelProgram *unfused);
  HostTensor randomInput(func::FuncOp function, unsigned number);
  /// Compares results with the function's reference evaluation.
  LogicalResult compare(func::FuncOp function, ArrayRef<HostTensor> inputs,
                        ArrayRef<Bytes> results);

  std::mt19937_64 random;
};

/// One function run as kernels.
class Run {
public:
  Run(const test::KernelProgram &program, bool bench)
      : program(program), bench(bench) {}

  FailureOr<SmallVector<Bytes>> function(StringRef name,
                                         ArrayRef<HostTensor> inputs);
  /// How many kernels were launched.
  int64_t launches = 0;

private:
  LogicalResult launch(step::CallOp op);
  /// Where an input of a kernel lies: one that is read in place, in what it is
  /// a slice of.
  char *addressOf(Value input);
  LogicalResult checkInPlace(step::CallOp op,
                             const std::vector<Bytes> &expected);
  llvm::Error runItems(step::CallOp op, std::vector<Bytes> &outputs,
                       int64_t begin, int64_t end, bool falling);
  /// Times a launch beside a copy of as many bytes.
  void time(step::CallOp op, std::vector<Bytes> outputs);

  const test::KernelProgram &program;
  bool bench;
  llvm::DenseMap<Value, Bytes> values;
};

} // namespace

static StringRef symbolOf(step::CallOp op) {
  return op.getKernel().getLeafReference().getValue();
}

void TestStepKernels::runOnOperation() {
  std::optional<test::KernelProgram> fused = compile(/*fuse=*/true);
  std::optional<test::KernelProgram> unfused =
      fused && compareUnfused ? compile(/*fuse=*/false) : std::nullopt;
  if (!fused || (compareUnfused && !unfused))
    return signalPassFailure();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (failed(testFunction(function, *fused, unfused ? &*unfused : nullptr)))
      return signalPassFailure();
}

std::optional<test::KernelProgram> TestStepKernels::compile(bool fuse) {
  auto program = test::KernelProgram::compile(
      getOperation(), {fuse, cpu, emulateGpu, emulatePtx});
  if (program && bench)
    llvm::errs() << llvm::format("%zu kernels in %.2f s\n", program->kernels(),
                                 program->seconds());
  return program;
}

LogicalResult
TestStepKernels::testFunction(func::FuncOp function,
                              const test::KernelProgram &fused,
                              const test::KernelProgram *unfused) {
  SmallVector<HostTensor> inputs;
  random.seed(llvm::hash_value(0));
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    inputs.push_back(randomInput(function, i));
  Run run(fused, bench);
  auto got = run.function(function.getName(), inputs);
  if (failed(got))
    return failure();
  if (!bench && failed(compare(function, inputs, *got)))
    return failure();
  std::string beside;
  if (unfused) {
    Run alone(*unfused, bench);
    auto others = alone.function(function.getName(), inputs);
    if (failed(others))
      return failure();
    for (auto [number, bytes] : llvm::enumerate(*others))
      if (bytes != (*got)[number])
        return function.emitError()
               << "result " << number << " has other bits without fusion";
    beside = ", and " + std::to_string(alone.launches) + " unfused ones";
  }
  llvm::outs() << "@" << function.getName() << ": " << run.launches
               << " kernels agree" << beside << "\n";
  llvm::outs().flush();
  return success();
}

HostTensor TestStepKernels::randomInput(func::FuncOp function,
                                        unsigned number) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[number]);
  auto bound = [&](StringRef name, double otherwise) {
    auto attribute = function.getArgAttrOfType<FloatAttr>(number, name);
    return attribute ? attribute.getValueAsDouble() : otherwise;
  };
  bool isFloat = isa<FloatType>(type.getElementType());
  double low = bound("step.low", isFloat ? -2 : 0),
         high = bound("step.high", isFloat ? 2 : 2);
  HostTensor::Floats floats;
  HostTensor::Ints ints;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    double unit = double(random() >> 11) / double(uint64_t(1) << 53),
           value = low + unit * (high - low);
    if (isFloat)
      floats.push_back(value);
    else
      ints.push_back(int64_t(std::floor(value)));
  }
  return isFloat ? HostTensor::floats(type, std::move(floats))
                 : HostTensor::ints(type, std::move(ints));
}

LogicalResult TestStepKernels::compare(func::FuncOp function,
                                       ArrayRef<HostTensor> inputs,
                                       ArrayRef<Bytes> results) {
  auto expected = test::evaluateFunction(function, inputs);
  if (!expected)
    return failure();
  for (auto [number, bytes] : llvm::enumerate(results)) {
    const HostTensor &reference = (*expected)[number];
    test::Deviation found = test::deviation(
                        test::fromBytes(reference.type(), bytes), reference),
                    bound = test::boundOf(function, reference);
    if (!(found.largest <= bound.largest))
      return function.emitError()
             << "result " << number << " deviates from its reference by "
             << found.largest << ", more than " << bound.largest;
    if (found.elements > bound.elements)
      return function.emitError()
             << found.elements << " elements of result " << number
             << " deviate from their reference, more than " << bound.elements;
  }
  return success();
}

FailureOr<SmallVector<Bytes>> Run::function(StringRef name,
                                            ArrayRef<HostTensor> inputs) {
  auto function = program.outlined().lookupSymbol<func::FuncOp>(name);
  for (auto [argument, input] :
       llvm::zip_equal(function.getArguments(), inputs))
    values[argument] = test::toBytes(input);
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (auto call = dyn_cast<step::CallOp>(op)) {
      ++launches;
      if (failed(launch(call)))
        return failure();
      continue;
    }
    // Views and constants that stay outside of kernels.
    SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(test::fromBytes(
          cast<RankedTensorType>(operand.getType()), values[operand]));
    auto results = test::evaluateOp(&op, operands);
    if (!results)
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *results))
      values[result] = test::toBytes(tensor);
  }
  SmallVector<Bytes> results;
  for (Value returned : body.getTerminator()->getOperands())
    results.push_back(values[returned]);
  return results;
}

char *Run::addressOf(Value input) {
  auto slice = input.getDefiningOp<nn::SliceOp>();
  if (!kernels::isReadInPlace(slice))
    return values[input].data();
  step::View view =
      step::View::contiguous({}, 0, slice.getInput().getType())
          .slice(slice.getStarts(), slice.getLimits(), slice.getStrides());
  return values[slice.getInput()].data() + view.offset;
}

llvm::Error Run::runItems(step::CallOp op, std::vector<Bytes> &outputs,
                          int64_t begin, int64_t end, bool falling) {
  std::vector<void *> arguments;
  for (Value input : op.getInputs())
    arguments.push_back(addressOf(input));
  for (Bytes &output : outputs)
    arguments.push_back(output.data());
  return program.run(symbolOf(op), std::move(arguments), begin, end, falling);
}

LogicalResult Run::launch(step::CallOp op) {
  StringRef symbol = symbolOf(op);
  if (!program.has(symbol))
    return op.emitError("the shared object lacks the kernel");
  std::vector<Bytes> whole;
  for (Type type : op.getOutputs().getTypes())
    whole.emplace_back(test::bytesOf(cast<RankedTensorType>(type)), char(0x5a));
  std::vector<Bytes> parts = whole;
  const int64_t extent = program.extent(symbol);
  llvm::Error error = runItems(op, whole, 0, extent, /*falling=*/false);
  for (int64_t item = extent; !error && item-- > 0;)
    error = runItems(op, parts, item, item + 1, /*falling=*/true);
  if (error)
    return op.emitError() << symbol << ": " << llvm::toString(std::move(error));
  if (failed(checkInPlace(op, whole)))
    return failure();
  for (auto [number, output] : llvm::enumerate(op.getOutputs())) {
    if (whole[number] != parts[number])
      return op.emitError() << symbol << ": result " << number
                            << " depends on how work items are partitioned";
    values[output] = whole[number];
  }
  if (bench)
    time(op, std::move(whole));
  return success();
}

/// Runs a kernel with every result in the place of every argument that
/// step-write-in-place might give it: the bits must be the same.
LogicalResult Run::checkInPlace(step::CallOp op,
                                const std::vector<Bytes> &expected) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getKernelAttr());
  std::string why;
  std::optional<kernels::LoopNest> nest = kernels::findLoopNest(function, why);
  if (!nest)
    return op.emitError() << "cannot be one kernel: " << why;
  for (size_t output = 0; output < expected.size(); ++output)
    for (size_t input = 0; input < op.getInputs().size(); ++input) {
      if (!kernels::mayLieInPlace(*nest, function.getArgument(input), output))
        continue;
      std::vector<Bytes> own = expected;
      own[output] = values.lookup(op.getInputs()[input]);
      std::vector<void *> all;
      for (Value value : op.getInputs())
        all.push_back(addressOf(value));
      for (Bytes &bytes : own)
        all.push_back(bytes.data());
      all[input] = own[output].data();
      if (llvm::Error error = program.run(symbolOf(op), std::move(all), 0,
                                          program.extent(symbolOf(op)),
                                          /*falling=*/true))
        return op.emitError() << llvm::toString(std::move(error));
      if (own != expected)
        return op.emitError()
               << op.getKernel() << ": result " << output
               << " is another in the place of argument " << input;
    }
  return success();
}

void Run::time(step::CallOp op, std::vector<Bytes> outputs) {
  auto seconds = [](auto work) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      auto start = std::chrono::steady_clock::now();
      work();
      std::chrono::duration<double> passed =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, passed.count());
    }
    return best;
  };
  int64_t moved = 0;
  for (Value value : op->getOperands())
    moved += values[value].size();
  for (Value value : op->getResults())
    moved += values[value].size();
  Bytes from(moved / 2, 1), to(moved / 2, 2);
  double copy =
      seconds([&] { std::memcpy(to.data(), from.data(), from.size()); });
  std::string symbol = symbolOf(op).str();
  double kernel = seconds([&] {
    llvm::cantFail(runItems(op, outputs, 0, program.extent(symbol),
                            /*falling=*/false));
  });
  llvm::errs() << llvm::format("%-40s %8.3f ms, memcpy of %.1f MB %8.3f ms\n",
                               symbol.c_str(), kernel * 1e3, moved / 1e6,
                               copy * 1e3);
}

void shardc::test::registerStepKernelsPass() {
  PassRegistration<TestStepKernels>();
}
