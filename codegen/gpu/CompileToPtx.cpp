// A gpu.func goes through NVVM and LLVM to PTX in this process.
#include "codegen/gpu/CompileGpuKernels.h"

#include "codegen/kernels/AccumulatorLoop.h"
#include "codegen/kernels/OptimizeModule.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace shardc::gpu {

namespace {

/// Ops of math, each with the one of LLVM that takes its place.
template <typename... Pairs> struct Instructions {
  /// Whether the op is one of them, and was replaced.
  static bool lower(IRRewriter &rewriter, Operation *op) {
    return (lowerAs<Pairs>(rewriter, op) || ...);
  }
  static void makeLegal(ConversionTarget &target) {
    target.addLegalOp<typename Pairs::second_type...>();
  }

private:
  template <typename Pair>
  static bool lowerAs(IRRewriter &rewriter, Operation *op) {
    if (!isa<typename Pair::first_type>(op))
      return false;
    rewriter.replaceOpWithNewOp<typename Pair::second_type>(
        op, op->getResult(0).getType(), op->getOperands());
    return true;
  }
};

using PlainInstructions =
    Instructions<std::pair<math::SqrtOp, LLVM::SqrtOp>,
                 std::pair<math::FmaOp, LLVM::FMAOp>,
                 std::pair<math::AbsFOp, LLVM::FAbsOp>,
                 std::pair<math::FloorOp, LLVM::FFloorOp>,
                 std::pair<math::CeilOp, LLVM::FCeilOp>,
                 std::pair<math::TruncOp, LLVM::FTruncOp>,
                 std::pair<math::RoundEvenOp, LLVM::RoundEvenOp>>;

} // namespace

/// Functions that are one correctly rounded instruction, or that kernels ask to
/// be approximate, become LLVM's; what is left is for Functions.cu.
static void lowerInstructions(Operation *module) {
  IRRewriter rewriter(module->getContext());
  module->walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    if (PlainInstructions::lower(rewriter, op))
      return;
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](math::AbsIOp of) {
          rewriter.replaceOpWithNewOp<LLVM::AbsOp>(
              op, of.getType(), of.getOperand(), /*isIntMinPoison=*/false);
        })
        .Case([&](math::RsqrtOp rsqrt) {
          Value root = LLVM::SqrtOp::create(rewriter, loc, rsqrt.getType(),
                                            rsqrt.getOperand());
          auto number =
              rewriter.getFloatAttr(getElementTypeOrSelf(rsqrt.getType()), 1);
          auto vector = dyn_cast<VectorType>(rsqrt.getType());
          Value one = arith::ConstantOp::create(
              rewriter, loc,
              vector ? TypedAttr(DenseElementsAttr::get(
                           vector, ArrayRef<Attribute>(number)))
                     : TypedAttr(number));
          rewriter.replaceOp(op,
                             arith::DivFOp::create(rewriter, loc, one, root));
        })
        .Case([&](math::Exp2Op power) {
          if (!arith::bitEnumContainsAll(power.getFastmath(),
                                         arith::FastMathFlags::afn))
            return;
          auto exp2 = LLVM::Exp2Op::create(rewriter, loc, power.getType(),
                                           power.getOperand());
          exp2.setFastmathFlags(LLVM::FastmathFlags::afn);
          rewriter.replaceOp(op, exp2);
        });
  });
}

static LogicalResult lowerToNvvm(mlir::gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  lowerInstructions(module);
  if (failed(kernels::lowerLoops(module)))
    return failure();
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter types(context, options);
  configureGpuToNVVMTypeConverter(types);
  RewritePatternSet patterns(context);
  populateVectorToLLVMConversionPatterns(types, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateGpuToNVVMConversionPatterns(types, patterns);
  // These come before arith's, whose remainder would not be exact.
  populateLibDeviceConversionPatterns(types, patterns, /*benefit=*/2);
  ConversionTarget target(*context);
  configureGpuToNVVMConversionLegality(target);
  // lowerInstructions made these.
  PlainInstructions::makeLegal(target);
  target.addLegalOp<LLVM::Exp2Op>();
  return applyPartialConversion(module, target, std::move(patterns));
}

static const unsigned char functionsBitcode[] = {
#include "codegen/gpu/Functions.inc"
};

/// Links in only those of Functions.cu that the kernel calls.
static llvm::Error linkFunctions(llvm::Module &code) {
  auto isCalled = [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  };
  if (llvm::none_of(code, isCalled))
    return llvm::Error::success();
  llvm::StringRef bytes(reinterpret_cast<const char *>(functionsBitcode),
                        sizeof(functionsBitcode));
  auto library = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bytes, "Functions.cu"), code.getContext());
  if (!library)
    return library.takeError();
  (*library)->setTargetTriple(code.getTargetTriple());
  (*library)->setDataLayout(code.getDataLayout());
  for (llvm::Function &function : **library)
    if (!function.isDeclaration()) {
      // They are for the kernel's GPU, whatever clang was told.
      function.removeFnAttr("target-cpu");
      function.removeFnAttr("target-features");
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  if (llvm::Linker::linkModules(code, std::move(*library),
                                llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("cannot link Functions.cu");
  for (llvm::Function &function : code)
    if (isCalled(function))
      return llvm::createStringError("calls " + function.getName() +
                                     ", which codegen/gpu/Functions.cu lacks");
    else if (!function.isDeclaration() &&
             function.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  return llvm::Error::success();
}

llvm::Expected<std::string> compileToPtx(mlir::gpu::GPUFuncOp kernel,
                                         const GpuModel &gpu) {
  OpBuilder builder(kernel.getContext());
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> holder = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(holder->getBody());
  auto module = mlir::gpu::GPUModuleOp::create(builder, loc, "kernels");
  builder.setInsertionPointToEnd(module.getBody());
  builder.clone(*kernel);
  if (failed(lowerToNvvm(module)))
    return llvm::createStringError("does not lower to NVVM");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, kernel.getName());
  if (!code)
    return llvm::createStringError("does not lower to LLVM IR");
  std::unique_ptr<llvm::TargetMachine> machine = gpu.createMachine();
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  if (llvm::Error error = linkFunctions(*code))
    return std::move(error);
  kernels::optimizeModule(*code, *machine, /*unrollsLoops=*/true);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("this build of LLVM cannot write PTX");
  emit.run(*code);
  return ptx.str().str();
}

} // namespace shardc::gpu
