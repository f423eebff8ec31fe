// step-test-kernels: compiles functions of nn ops, runs them here, and compares
// with the ops' reference evaluation.
#include "codegen/Passes.h"
#include "codegen/cpu/CompileKernels.h"
#include "codegen/cpu/LoadedKernels.h"
#include "codegen/gpu/CompileGpuKernels.h"
#include "codegen/gpu/EmulateKernels.h"
#include "codegen/kernels/LoopNest.h"
#include "frontend/nn/Interpreter.h"

#include "mlir/IR/Verifier.h"
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

/// The bits of a 16-bit float, and its value.
uint16_t bitsOfHalf(FloatType type, double value) {
  llvm::APFloat number(value);
  bool inexact;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &inexact);
  return number.bitcastToAPInt().getZExtValue();
}
double valueOfHalf(FloatType type, uint16_t bits) {
  llvm::APFloat number(type.getFloatSemantics(), llvm::APInt(16, bits));
  bool inexact;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

Bytes toBytes(const HostTensor &tensor) {
  Type element = tensor.type().getElementType();
  Bytes bytes;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (element.isF32())
      append(bytes, float(tensor.floatAt(i)));
    else if (element.isF64())
      append(bytes, tensor.floatAt(i));
    else if (auto type = dyn_cast<FloatType>(element))
      append(bytes, bitsOfHalf(type, tensor.floatAt(i)));
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
    else if (auto half = dyn_cast<FloatType>(element))
      floats.push_back(valueOfHalf(half, at<uint16_t>(bytes, i)));
    else
      ints.push_back(element.isInteger(64)   ? at<int64_t>(bytes, i)
                     : element.isInteger(32) ? at<int32_t>(bytes, i)
                                             : at<int8_t>(bytes, i));
  }
  return isa<FloatType>(element) ? HostTensor::floats(type, std::move(floats))
                                 : HostTensor::ints(type, std::move(ints));
}

struct Deviation {
  /// Relative to the largest value; infinity where one is NaN or infinite and
  /// the other is not equal.
  double largest = 0;
  int64_t elements = 0; // that are not equal
};

Deviation deviation(const HostTensor &got, const HostTensor &expected) {
  double largest = 1e-30, worst = 0;
  int64_t unequal = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    double a = got.isFloat() ? got.floatAt(i) : double(got.intAt(i));
    double b = got.isFloat() ? expected.floatAt(i) : double(expected.intAt(i));
    if (std::isfinite(b))
      largest = std::max(largest, std::abs(b));
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    ++unequal;
    worst =
        std::max(worst, std::isfinite(a) && std::isfinite(b) ? std::abs(a - b)
                                                             : INFINITY);
  }
  return {got.isFloat() ? worst / largest : worst, unequal};
}

/// What results may deviate by. An op computes in float32 (float64) where its
/// reference computes in float64; a 16-bit result of both is rounded once, to
/// neighbouring numbers at most, and seldom to different ones.
Deviation boundOf(func::FuncOp function, const HostTensor &result) {
  auto isOf = [&](auto is) {
    return llvm::any_of(function.getArgumentTypes(), [&](Type type) {
      return is(getElementTypeOrSelf(type));
    });
  };
  Deviation bound;
  bound.elements = result.elements();
  if (isOf([](Type type) { return type.isBF16() || type.isF16(); })) {
    bound.largest =
        isOf([](Type type) { return type.isBF16(); }) ? 0x1p-7 : 0x1p-10;
    if (result.elementType().getIntOrFloatBitWidth() == 16)
      bound.elements = 1 + result.elements() / 50;
  } else {
    bound.largest = isOf([](Type type) { return type.isF32(); }) ? 2e-5 : 1e-11;
  }
  return bound;
}

struct StepTestKernels : impl::StepTestKernelsBase<StepTestKernels> {
  using StepTestKernelsBase::StepTestKernelsBase;

  void runOnOperation() override {
    std::optional<Program> fused = compile(/*fuse=*/true);
    std::optional<Program> unfused =
        fused && compareUnfused ? compile(/*fuse=*/false) : std::nullopt;
    if (!fused || (compareUnfused && !unfused))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(test(function, *fused, unfused ? &*unfused : nullptr)))
        return signalPassFailure();
  }

private:
  /// The module outlined, and its kernels.
  struct Program {
    OwningOpRef<ModuleOp> outlined;
    std::optional<cpu::LoadedKernels> kernels;
    /// In place of `kernels` with the option `gpu`.
    std::optional<gpu::EmulatedKernels> emulated;
    /// The number of work items of the CPU's kernels, of blocks of the GPU's.
    llvm::StringMap<int64_t> extents;
  };

  std::optional<Program> emulate(OwningOpRef<ModuleOp> outlined) {
    bool refused = false;
    OwningOpRef<ModuleOp> parent = ModuleOp::create(outlined->getLoc());
    mlir::gpu::GPUModuleOp module = gpu::emitGpuKernels(
        outlined->lookupSymbol<ModuleOp>("kernels"), *parent, "kernels",
        [&](StringRef kernel, StringRef why) {
          refused = true;
          getOperation().emitError() << kernel << ": " << why;
        });
    if (refused || failed(mlir::verify(module)))
      return std::nullopt;
    auto emulated = gpu::EmulatedKernels::compile(module, cpu);
    if (!emulated) {
      getOperation().emitError() << llvm::toString(emulated.takeError());
      return std::nullopt;
    }
    llvm::StringMap<int64_t> extents;
    for (auto function : module.getOps<mlir::gpu::GPUFuncOp>())
      extents[function.getName()] = emulated->grid(function.getName());
    return Program{std::move(outlined), std::nullopt, std::move(*emulated),
                   std::move(extents)};
  }

  std::optional<Program> compile(bool fuse) {
    auto fail = [&](llvm::Error error) -> std::optional<Program> {
      getOperation().emitError() << llvm::toString(std::move(error));
      return std::nullopt;
    };
    OwningOpRef<ModuleOp> outlined = getOperation().clone();
    PassManager outline(&getContext(), ModuleOp::getOperationName());
    outline.addPass(createStepOutlineKernels({fuse}));
    if (failed(outline.run(*outlined)))
      return std::nullopt;
    if (emulateGpu)
      return emulate(std::move(outlined));
    cpu::CpuOptions options;
    options.cpu = cpu;
    auto kernels = outlined->lookupSymbol<ModuleOp>("kernels");
    llvm::Expected<cpu::CompiledObject> compiled =
        cpu::compileKernels(kernels, options);
    if (!compiled)
      return fail(compiled.takeError());
    llvm::Expected<cpu::LoadedKernels> loaded =
        cpu::LoadedKernels::load(compiled->sharedObject);
    if (!loaded)
      return fail(loaded.takeError());
    Program program{std::move(outlined), std::move(*loaded), std::nullopt, {}};
    for (const cpu::KernelInfo &info : compiled->kernels)
      program.extents[info.symbol] = info.extent;
    if (bench)
      llvm::errs() << llvm::format("%zu kernels in %.2f s\n",
                                   compiled->kernels.size(), compiled->seconds);
    return program;
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
        floats.push_back(value);
      else
        ints.push_back(int64_t(std::floor(value)));
    }
    return isFloat ? HostTensor::floats(type, std::move(floats))
                   : HostTensor::ints(type, std::move(ints));
  }

  /// Runs a kernel with every result in the place of every argument that
  /// step-write-in-place might give it: the bits must be the same.
  LogicalResult
  checkInPlace(const Program &program, step::CallOp op,
               const llvm::DenseMap<Value, Bytes> &values,
               const std::vector<Bytes> &expected,
               llvm::function_ref<llvm::Error(std::vector<void *>)> run) {
    auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, op.getKernelAttr());
    std::string why;
    std::optional<kernels::LoopNest> nest =
        kernels::findLoopNest(function, why);
    if (!nest)
      return op.emitError() << "cannot be one kernel: " << why;
    size_t inputs = op.getInputs().size();
    for (size_t output = 0; output < expected.size(); ++output)
      for (size_t input = 0; input < inputs; ++input) {
        if (!kernels::mayLieInPlace(*nest, function.getArgument(input), output))
          continue;
        std::vector<Bytes> own = expected;
        own[output] = values.lookup(op.getInputs()[input]);
        std::vector<void *> all;
        std::vector<Bytes> read;
        for (Value value : op.getInputs())
          read.push_back(values.lookup(value));
        for (Bytes &bytes : read)
          all.push_back(bytes.data());
        for (Bytes &bytes : own)
          all.push_back(bytes.data());
        all[input] = own[output].data();
        if (llvm::Error error = run(std::move(all)))
          return op.emitError() << llvm::toString(std::move(error));
        if (own != expected)
          return op.emitError()
                 << op.getKernel() << ": result " << output
                 << " is another in the place of argument " << input;
      }
    return success();
  }

  LogicalResult launch(const Program &program, step::CallOp op,
                       llvm::DenseMap<Value, Bytes> &values) {
    std::string symbol = op.getKernel().getLeafReference().str();
    cpu::KernelFunction kernel =
        program.kernels ? program.kernels->find(symbol) : nullptr;
    int64_t extent = program.extents.lookup(symbol);
    if (!kernel && !program.emulated)
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
    auto runOn = [&](std::vector<void *> all, int64_t begin, int64_t end,
                     bool falling) -> llvm::Error {
      if (kernel) {
        kernel(all.data(), begin, end);
        return llvm::Error::success();
      }
      // In falling order, threads are too: what one leaves to another without
      // a barrier would be missing.
      for (int64_t block = begin; block < end; ++block)
        if (llvm::Error error =
                program.emulated->runBlock(symbol, all.data(), block, falling))
          return error;
      return llvm::Error::success();
    };
    auto run = [&](std::vector<Bytes> &outputs, int64_t begin, int64_t end) {
      std::vector<void *> all = arguments;
      for (Bytes &output : outputs)
        all.push_back(output.data());
      return runOn(std::move(all), begin, end, &outputs == &parts);
    };
    llvm::Error error = run(whole, 0, extent);
    for (int64_t item = extent; !error && item-- > 0;)
      error = run(parts, item, item + 1);
    if (error)
      return op.emitError()
             << symbol << ": " << llvm::toString(std::move(error));
    if (failed(checkInPlace(program, op, values, whole,
                            [&](std::vector<void *> all) {
                              return runOn(std::move(all), 0, extent, true);
                            })))
      return failure();
    for (auto [number, output] : llvm::enumerate(op.getOutputs())) {
      if (whole[number] != parts[number])
        return op.emitError() << symbol << ": result " << number
                              << " depends on how work items are partitioned";
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
      double kernelTime =
          seconds([&] { llvm::cantFail(run(whole, 0, extent)); });
      llvm::errs() << llvm::format(
          "%-40s %8.3f ms, memcpy of %.1f MB %8.3f ms\n", symbol.c_str(),
          kernelTime * 1e3, moved / 1e6, copy * 1e3);
    }
    return success();
  }

  /// Runs a function as kernels; its results, and how many were launched.
  FailureOr<SmallVector<Bytes>> run(const Program &program, StringRef name,
                                    ArrayRef<HostTensor> inputs,
                                    int64_t &launches) {
    auto function = program.outlined.get().lookupSymbol<func::FuncOp>(name);
    llvm::DenseMap<Value, Bytes> values;
    for (auto [argument, input] :
         llvm::zip_equal(function.getArguments(), inputs))
      values[argument] = toBytes(input);
    launches = 0;
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator()) {
      if (auto launchOp = dyn_cast<step::CallOp>(op)) {
        ++launches;
        if (failed(launch(program, launchOp, values)))
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
    SmallVector<Bytes> results;
    for (Value returned : body.getTerminator()->getOperands())
      results.push_back(values[returned]);
    return results;
  }

  LogicalResult test(func::FuncOp function, const Program &fused,
                     const Program *unfused) {
    SmallVector<HostTensor> inputs;
    random.seed(llvm::hash_value(0));
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputs.push_back(randomInput(function, i));
    int64_t launches = 0, more = 0;
    auto got = run(fused, function.getName(), inputs, launches);
    if (failed(got))
      return failure();
    if (!bench) {
      auto expected = nn::evaluateFunction(function, inputs);
      if (!expected)
        return failure();
      for (auto [number, bytes] : llvm::enumerate(*got)) {
        const HostTensor &reference = (*expected)[number];
        Deviation found =
                      deviation(fromBytes(reference.type(), bytes), reference),
                  bound = boundOf(function, reference);
        if (!(found.largest <= bound.largest))
          return function.emitError()
                 << "result " << number << " deviates from its reference by "
                 << found.largest << ", more than " << bound.largest;
        if (found.elements > bound.elements)
          return function.emitError()
                 << found.elements << " elements of result " << number
                 << " deviate from their reference, more than "
                 << bound.elements;
      }
    }
    if (unfused) {
      auto alone = run(*unfused, function.getName(), inputs, more);
      if (failed(alone))
        return failure();
      for (auto [number, bytes] : llvm::enumerate(*alone))
        if (bytes != (*got)[number])
          return function.emitError()
                 << "result " << number << " has other bits without fusion";
    }
    llvm::outs() << "@" << function.getName() << ": " << launches
                 << " kernels agree";
    if (unfused)
      llvm::outs() << ", and " << more << " unfused ones";
    llvm::outs() << "\n";
    llvm::outs().flush();
    return success();
  }

  std::mt19937_64 random;
};

} // namespace
} // namespace shardc
