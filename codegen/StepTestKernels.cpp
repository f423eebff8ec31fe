// step-test-kernels: compiles functions of nn ops, runs them here, and compares
// with the ops' reference evaluation.
#include "codegen/Passes.h"
#include "codegen/cpu/CompileKernels.h"
#include "codegen/cpu/LoadedKernels.h"
#include "frontend/nn/Interpreter.h"

#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_STEPTESTKERNELS
#include "codegen/Passes.h.inc"

namespace {

using nn::HostTensor;
using Bytes = std::vector<char>;

int64_t elementBytes(Type element) {
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

template <typename T> void append(Bytes &bytes, T value) {
  const char *raw = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}
template <typename T> T at(const Bytes &bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

Bytes toBytes(const HostTensor &tensor) {
  Type element = tensor.type().getElementType();
  Bytes bytes;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (element.isF32())
      append(bytes, float(tensor.floatAt(i)));
    else if (element.isF64())
      append(bytes, tensor.floatAt(i));
    else if (element.isInteger(64))
      append(bytes, tensor.intAt(i));
    else if (element.isInteger(32))
      append(bytes, int32_t(tensor.intAt(i)));
    else
      append(bytes, int8_t(tensor.intAt(i)));
  }
  return bytes;
}

HostTensor fromBytes(RankedTensorType type, const Bytes &bytes) {
  Type element = type.getElementType();
  HostTensor::Floats floats;
  HostTensor::Ints ints;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    if (element.isF32())
      floats.push_back(at<float>(bytes, i));
    else if (element.isF64())
      floats.push_back(at<double>(bytes, i));
    else
      ints.push_back(element.isInteger(64)   ? at<int64_t>(bytes, i)
                     : element.isInteger(32) ? at<int32_t>(bytes, i)
                                             : at<int8_t>(bytes, i));
  }
  return isa<FloatType>(element) ? HostTensor::floats(type, std::move(floats))
                                 : HostTensor::ints(type, std::move(ints));
}

/// Largest deviation, relative to the largest value; infinity where one is NaN
/// or infinite and the other is not equal.
double deviation(const HostTensor &got, const HostTensor &expected) {
  double largest = 1e-30, worst = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    double a = got.isFloat() ? got.floatAt(i) : double(got.intAt(i));
    double b = got.isFloat() ? expected.floatAt(i) : double(expected.intAt(i));
    if (std::isfinite(b))
      largest = std::max(largest, std::abs(b));
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    worst =
        std::max(worst, std::isfinite(a) && std::isfinite(b) ? std::abs(a - b)
                                                             : INFINITY);
  }
  return got.isFloat() ? worst / largest : worst;
}

struct StepTestKernels : impl::StepTestKernelsBase<StepTestKernels> {
  using StepTestKernelsBase::StepTestKernelsBase;

  void runOnOperation() override {
    OwningOpRef<ModuleOp> outlined = getOperation().clone();
    PassManager outline(&getContext(), ModuleOp::getOperationName());
    outline.addPass(createStepOutlineKernels());
    if (failed(outline.run(*outlined)))
      return signalPassFailure();
    cpu::CpuOptions options;
    options.cpu = cpu;
    auto kernels = outlined->lookupSymbol<ModuleOp>("kernels");
    llvm::Expected<cpu::CompiledKernels> compiled =
        cpu::compileKernels(kernels, options);
    if (!compiled)
      return fail(llvm::toString(compiled.takeError()));
    llvm::Expected<cpu::LoadedKernels> loaded =
        cpu::LoadedKernels::load(compiled->sharedObject);
    if (!loaded)
      return fail(llvm::toString(loaded.takeError()));
    loadedKernels = &*loaded;
    extents.clear();
    for (const cpu::KernelInfo &info : compiled->kernels)
      extents[info.symbol] = info.extent;
    if (bench)
      llvm::errs() << llvm::format("%zu kernels in %.2f s\n",
                                   compiled->kernels.size(), compiled->seconds);

    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(test(function, outlined->lookupSymbol<func::FuncOp>(
                                    function.getName()))))
        return signalPassFailure();
  }

private:
  void fail(const std::string &message) {
    getOperation().emitError() << message;
    signalPassFailure();
  }

  HostTensor randomInput(func::FuncOp function, unsigned number) {
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
        floats.push_back(type.getElementType().isF32() ? float(value) : value);
      else
        ints.push_back(int64_t(std::floor(value)));
    }
    return isFloat ? HostTensor::floats(type, std::move(floats))
                   : HostTensor::ints(type, std::move(ints));
  }

  LogicalResult launch(step::LaunchOp op,
                       llvm::DenseMap<Value, Bytes> &values) {
    std::string symbol = op.getKernel().getLeafReference().str();
    cpu::KernelFunction kernel = loadedKernels->find(symbol);
    int64_t extent = extents.lookup(symbol);
    if (!kernel)
      return op.emitError("the shared object lacks the kernel");
    std::vector<void *> arguments;
    for (Value input : op.getInputs())
      arguments.push_back(values[input].data());
    std::vector<Bytes> whole, parts;
    int64_t moved = 0;
    for (Type type : op.getOutputs().getTypes()) {
      int64_t size = cast<RankedTensorType>(type).getNumElements() *
                     elementBytes(getElementTypeOrSelf(type));
      whole.emplace_back(size, char(0x5a));
      parts.emplace_back(size, char(0x5a));
    }
    auto run = [&](std::vector<Bytes> &outputs, int64_t begin, int64_t end) {
      std::vector<void *> all = arguments;
      for (Bytes &output : outputs)
        all.push_back(output.data());
      kernel(all.data(), begin, end);
    };
    run(whole, 0, extent);
    for (int64_t piece = extent; piece-- > 0;)
      run(parts, piece, piece + 1);
    for (auto [number, output] : llvm::enumerate(op.getOutputs())) {
      if (whole[number] != parts[number])
        return op.emitError() << symbol << ": result " << number
                              << " depends on how pieces are partitioned";
      moved += whole[number].size();
      values[output] = whole[number];
    }
    for (Value input : op.getInputs())
      moved += values[input].size();
    if (bench) {
      auto seconds = [](auto work) {
        double best = 1e9;
        for (int i = 0; i < 20; ++i) {
          auto start = std::chrono::steady_clock::now();
          work();
          best = std::min(best, std::chrono::duration<double>(
                                    std::chrono::steady_clock::now() - start)
                                    .count());
        }
        return best;
      };
      Bytes from(moved / 2, 1), to(moved / 2, 2);
      double copy =
          seconds([&] { std::memcpy(to.data(), from.data(), from.size()); });
      double kernelTime = seconds([&] { run(whole, 0, extent); });
      llvm::errs() << llvm::format(
          "%-40s %8.3f ms, memcpy of %.1f MB %8.3f ms\n", symbol.c_str(),
          kernelTime * 1e3, moved / 1e6, copy * 1e3);
    }
    return success();
  }

  LogicalResult test(func::FuncOp function, func::FuncOp outlined) {
    SmallVector<HostTensor> inputs;
    llvm::DenseMap<Value, Bytes> values;
    random.seed(llvm::hash_value(0));
    for (auto [number, argument] : llvm::enumerate(outlined.getArguments())) {
      inputs.push_back(randomInput(function, number));
      values[argument] = toBytes(inputs.back());
    }
    int64_t launches = 0;
    for (Operation &op : outlined.getBody().front().without_terminator()) {
      if (auto launchOp = dyn_cast<step::LaunchOp>(op)) {
        ++launches;
        if (failed(launch(launchOp, values)))
          return failure();
        continue;
      }
      // Views and constants that stay outside of kernels.
      SmallVector<HostTensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(fromBytes(cast<RankedTensorType>(operand.getType()),
                                     values[operand]));
      auto results = nn::evaluateOp(&op, operands);
      if (!results)
        return failure();
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *results))
        values[result] = toBytes(tensor);
    }
    double worst = 0;
    if (!bench) {
      auto expected = nn::evaluateFunction(function, inputs);
      if (!expected)
        return failure();
      bool isDouble = llvm::none_of(function.getArgumentTypes(), [](Type type) {
        return getElementTypeOrSelf(type).isF32();
      });
      double bound = isDouble ? 1e-11 : 2e-5;
      auto returned = outlined.getBody().front().getTerminator()->getOperands();
      for (auto [number, value] : llvm::enumerate(returned)) {
        HostTensor got =
            fromBytes(cast<RankedTensorType>(value.getType()), values[value]);
        double error = deviation(got, (*expected)[number]);
        if (!(error <= bound))
          return function.emitError()
                 << "result " << number << " deviates from its reference by "
                 << error << ", more than " << bound;
        worst = std::max(worst, error);
      }
    }
    llvm::outs() << "@" << function.getName() << ": " << launches
                 << " kernels agree\n";
    llvm::outs().flush();
    return success();
  }

  cpu::LoadedKernels *loadedKernels = nullptr;
  llvm::StringMap<int64_t> extents;
  std::mt19937_64 random;
};

} // namespace
} // namespace shardc
