// The driver compiles every function on its own, on all cores, from linalg
// through the LLVM dialect to an object, and then links once.
#include "codegen/cpu/CompileCpuKernels.h"

#include "codegen/cpu/CpuModel.h"
#include "codegen/cpu/EmitCpuKernel.h"
#include "codegen/cpu/LinkObjects.h"
#include "codegen/kernels/AccumulatorLoop.h"
#include "codegen/kernels/KernelFunction.h"
#include "codegen/kernels/OptimizeModule.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/thread.h"

#include <atomic>
#include <chrono>

using namespace mlir;

namespace shardc::cpu {

static LogicalResult lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  if (failed(kernels::lowerLoops(module)))
    return failure();
  LowerToLLVMOptions options(context);
  LLVMTypeConverter types(context, options);
  RewritePatternSet patterns(context);
  vector::populateVectorExtractStridedSliceToExtractInsertChainPatterns(
      patterns, [](auto) { return false; });
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  index::populateIndexToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

FailureOr<std::string> compileObject(ModuleOp module, const CpuModel &cpu,
                                     StringRef name) {
  if (failed(lowerToLLVM(module)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, name);
  if (!code)
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine = cpu.createMachine();
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *code) {
    std::string width = std::to_string(cpu.vectors.vectorBytes * 8);
    function.addFnAttr("target-cpu", cpu.name);
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.addFnAttr("no-builtins");
  }
  kernels::optimizeModule(*code, *machine, /*unrollsLoops=*/false);
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, os, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("the target cannot write object files");
  emit.run(*code);
  return object.str().str();
}

namespace {
struct KernelObject {
  int64_t extent = 0;
  std::string bytes; // an object file
};
} // namespace

static FailureOr<KernelObject> compileKernel(func::FuncOp kernel,
                                             const CpuModel &cpu) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  FailureOr<int64_t> items = emitCpuKernel(kernel, *module, cpu.vectors);
  if (failed(items))
    return failure();
  FailureOr<std::string> object = compileObject(*module, cpu, kernel.getName());
  if (failed(object))
    return failure();
  return KernelObject{*items, std::move(*object)};
}

/// As compileKernel, unless the cache has it. `warning` says why it was not
/// kept there.
static FailureOr<KernelObject> findOrCompile(func::FuncOp kernel,
                                             const CpuModel &cpu,
                                             const kernels::KernelCache &cache,
                                             std::string &warning) {
  // In the cache the extent stands before the object.
  constexpr size_t extentBytes = sizeof(int64_t);
  std::string key = cache.keyOf(kernel, "cpu:" + cpu.name);
  if (auto kept = cache.find(key); kept && kept->size() >= extentBytes)
    return KernelObject{
        static_cast<int64_t>(llvm::support::endian::read64le(kept->data())),
        kept->substr(extentBytes)};
  FailureOr<KernelObject> object = compileKernel(kernel, cpu);
  if (failed(object) || key.empty())
    return object;
  std::string bytes(extentBytes, '\0');
  llvm::support::endian::write64le(bytes.data(), object->extent);
  if (llvm::Error error = cache.store(key, bytes + object->bytes))
    warning = llvm::toString(std::move(error));
  return object;
}

void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
              math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

/// Calls compile(i) for i in [0, count) on all cores (on one where the context
/// wants no threads), on threads that are not the context's: others may be
/// waiting for those. Returns false once one call did.
static bool onAllCores(MLIRContext *context, size_t count,
                       llvm::function_ref<bool(size_t)> compile) {
  std::atomic<size_t> next{0};
  std::atomic<bool> ok{true};
  auto work = [&] {
    for (size_t i; ok && (i = next++) < count;)
      if (!compile(i))
        ok = false;
  };
  unsigned cores = context->isMultithreadingEnabled()
                       ? std::max(1u, llvm::thread::hardware_concurrency())
                       : 1;
  // LLVM's passes are recursive in the code that they work on: how much stack
  // the user's shell gives to a thread must not matter.
  constexpr std::optional<unsigned> stackBytes = 8 << 20;
  std::vector<llvm::thread> threads(std::min<size_t>(count, cores));
  for (llvm::thread &thread : threads)
    thread = llvm::thread(stackBytes, work);
  for (llvm::thread &thread : threads)
    thread.join();
  return ok;
}

/// The error of the kernel that this thread compiles. It is null on other
/// threads.
static thread_local std::string *kernelError = nullptr;

/// Compiles the functions of `kernels`, and changes them.
llvm::Expected<CompiledObject> compileInPlace(ModuleOp kernels,
                                              const CpuOptions &options) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<CpuModel> cpu = CpuModel::resolve(options.cpu);
  if (!cpu)
    return cpu.takeError();
  MLIRContext *context = kernels.getContext();
  kernels::generalizeNamedOps(kernels);

  SmallVector<func::FuncOp> functions(kernels.getOps<func::FuncOp>());
  CompiledObject compiled;
  compiled.cpu = cpu->name;
  compiled.kernels.resize(functions.size());
  std::vector<std::string> objects(functions.size()), errors(functions.size()),
      warnings(functions.size());
  ScopedDiagnosticHandler collect(context, [](Diagnostic &diagnostic) {
    if (!kernelError)
      return failure(); // what other passes say is not of kernels
    if (kernelError->empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      *kernelError = diagnostic.str();
    return success();
  });
  bool done = onAllCores(context, functions.size(), [&](size_t i) {
    KernelInfo &info = compiled.kernels[i];
    info.symbol = functions[i].getName().str();
    std::string error;
    kernelError = &error;
    FailureOr<KernelObject> object =
        findOrCompile(functions[i], *cpu, options.cache, warnings[i]);
    kernelError = nullptr;
    if (failed(object)) {
      errors[i] = "kernel " + info.symbol + ": " + error;
      return false;
    }
    info.extent = object->extent;
    objects[i] = std::move(object->bytes);
    return true;
  });
  if (!done)
    return llvm::createStringError(*llvm::find_if(
        errors, [](const std::string &error) { return !error.empty(); }));
  llvm::Expected<std::string> linked = linkObjects(objects);
  if (!linked)
    return linked.takeError();
  compiled.sharedObject = std::move(*linked);
  for (const std::string &warning : warnings)
    if (compiled.warning.empty())
      compiled.warning = warning;
  compiled.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return compiled;
}

llvm::Expected<CompiledObject> compileCpuKernels(ModuleOp kernels,
                                                 const CpuOptions &options) {
  loadDialects(kernels.getContext());
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(kernels->clone());
  return compileInPlace(*copy, options);
}

} // namespace shardc::cpu
