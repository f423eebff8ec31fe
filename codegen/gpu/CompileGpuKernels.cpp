// Every function is compiled on its own, on all cores.
#include "codegen/gpu/CompileGpuKernels.h"

#include "codegen/gpu/EmitGpuKernel.h"
#include "codegen/kernels/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Support/Endian.h"

#include <chrono>
#include <mutex>

using namespace mlir;

namespace shardc::gpu {

static void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  mlir::gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

mlir::gpu::GPUModuleOp
emitGpuKernels(ModuleOp kernels, ModuleOp parent, StringRef name,
               llvm::function_ref<void(StringRef, StringRef)> refuse) {
  MLIRContext *context = kernels.getContext();
  loadDialects(context);
  // The caller's module stays as it is, since this works on a copy.
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(kernels->clone());
  kernels::generalizeNamedOps(*copy);
  auto builder = OpBuilder::atBlockEnd(parent.getBody());
  auto module = mlir::gpu::GPUModuleOp::create(builder, kernels.getLoc(), name);
  for (auto function : copy->getOps<func::FuncOp>()) {
    std::string why;
    ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
      if (why.empty())
        why = diagnostic.str();
      return success();
    });
    if (failed(emitGpuKernel(function, module)))
      refuse(function.getName(), why);
  }
  return module;
}

/// What the cache keeps of an assembled kernel: how much it uses, then its
/// bytes.
static constexpr size_t usageBytes = 4 * sizeof(int64_t);

static std::string pack(const Cubin &cubin) {
  const ResourceUsage &usage = cubin.usage;
  std::string bytes;
  for (int64_t number : {usage.registers, usage.stackBytes, usage.spillBytes,
                         usage.sharedBytes}) {
    char raw[sizeof(number)];
    llvm::support::endian::write64le(raw, number);
    bytes.append(raw, sizeof(raw));
  }
  return bytes + cubin.bytes;
}

static std::optional<Cubin> unpack(const std::optional<std::string> &bytes) {
  if (!bytes || bytes->size() < usageBytes)
    return std::nullopt;
  auto number = [&](size_t index) -> int64_t {
    return llvm::support::endian::read64le(bytes->data() +
                                           index * sizeof(int64_t));
  };
  return Cubin{bytes->substr(usageBytes),
               {number(0), number(1), number(2), number(3)}};
}

namespace {
/// Makes PTX and cubins, or finds them. Its functions may be called on several
/// threads.
class KernelMaker {
public:
  KernelMaker(const GpuModel &gpu, const CudaToolkit &toolkit,
              const kernels::KernelCache &cache)
      : gpu(gpu), toolkit(toolkit), cache(cache),
        assembler(gpu.name + " by " + toolkit.identity()) {}

  llvm::Expected<std::string> ptx(mlir::gpu::GPUFuncOp function) {
    std::string key = cache.keyOf(function, gpu.name);
    if (auto kept = cache.find(key))
      return std::move(*kept);
    auto made = compileToPtx(function, gpu);
    if (made)
      keep(key, *made);
    return made;
  }
  llvm::Expected<Cubin> cubin(llvm::StringRef ptx) {
    std::string key = cache.keyOf(ptx, assembler);
    if (auto kept = unpack(cache.find(key)))
      return std::move(*kept);
    auto made = assemble(ptx, toolkit.ptxas, gpu);
    if (made)
      keep(key, pack(*made));
    return made;
  }
  std::string warning;

private:
  void keep(const std::string &key, llvm::StringRef bytes) {
    if (llvm::Error error = cache.store(key, bytes)) {
      std::lock_guard lock(mutex);
      warning = llvm::toString(std::move(error));
    }
  }

  const GpuModel &gpu;
  const CudaToolkit &toolkit;
  const kernels::KernelCache &cache;
  std::string assembler;
  std::mutex mutex;
};
} // namespace

llvm::Expected<GpuKernels>
compileGpuKernels(ModuleOp kernels, const GpuModel &gpu,
                  const CudaToolkit &toolkit,
                  const kernels::KernelCache &cache) {
  auto start = std::chrono::steady_clock::now();
  GpuKernels compiled;
  compiled.gpu = gpu.name;
  compiled.capability = gpu.capability;
  llvm::StringMap<size_t> numbers;
  for (auto function : kernels.getOps<func::FuncOp>()) {
    numbers[function.getName()] = compiled.kernels.size();
    compiled.kernels.emplace_back().symbol = function.getName().str();
  }
  OwningOpRef<ModuleOp> parent = ModuleOp::create(kernels.getLoc());
  mlir::gpu::GPUModuleOp module = emitGpuKernels(
      kernels, *parent, "kernels", [&](StringRef kernel, StringRef why) {
        compiled.kernels[numbers.lookup(kernel)].refusal = why.str();
      });
  SmallVector<mlir::gpu::GPUFuncOp> functions(
      module.getOps<mlir::gpu::GPUFuncOp>());
  KernelMaker maker(gpu, toolkit, cache);
  parallelFor(kernels.getContext(), 0, functions.size(), [&](size_t i) {
    mlir::gpu::GPUFuncOp function = functions[i];
    GpuKernel &kernel = compiled.kernels[numbers.lookup(function.getName())];
    kernel.kind = kindOf(function).str();
    kernel.grid = (*function.getKnownGridSize())[0];
    kernel.block = (*function.getKnownBlockSize())[0];
    auto ptx = maker.ptx(function);
    if (!ptx) {
      kernel.refusal = llvm::toString(ptx.takeError());
      return;
    }
    kernel.ptx = std::move(*ptx);
    if (toolkit.ptxas.empty())
      return;
    auto cubin = maker.cubin(kernel.ptx);
    if (cubin) {
      kernel.cubin = std::move(*cubin);
      return;
    }
    kernel.refusal = llvm::toString(cubin.takeError());
    kernel.ptx.clear();
  });
  compiled.warning = maker.warning;
  compiled.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return compiled;
}

} // namespace shardc::gpu
