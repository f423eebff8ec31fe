// CPU names are resolved to features.
#include "codegen/cpu/CpuModel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

namespace shardc::cpu {

static const llvm::Target *lookupTarget(const llvm::Triple &triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

static llvm::Triple kernelTriple() {
  return llvm::Triple("x86_64-unknown-linux-gnu");
}

llvm::Expected<CpuModel> CpuModel::resolve(llvm::StringRef name) {
  const llvm::Target *target = lookupTarget(kernelTriple());
  if (!target)
    return llvm::createStringError(
        "this build of LLVM cannot generate x86-64 code");
  CpuModel cpu;
  cpu.name = name == "native" ? llvm::sys::getHostCPUName().str() : name.str();
  std::unique_ptr<llvm::MCSubtargetInfo> plain(
      target->createMCSubtargetInfo(kernelTriple(), "", ""));
  if (!plain->isCPUStringValid(cpu.name))
    return llvm::createStringError(
        "unknown CPU '" + cpu.name +
        "'; expects native, x86-64-v3, x86-64-v4, znver4, ...");
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(kernelTriple(), cpu.name, ""));
  if (!info->checkFeatures("+64bit"))
    return llvm::createStringError("CPU '" + cpu.name +
                                   "' is not a 64-bit one");
  bool avx512 = info->checkFeatures("+avx512f,+avx512vl,+avx512dq,+avx512bw");
  cpu.vectors.vectorBytes = avx512                         ? 64
                            : info->checkFeatures("+avx2") ? 32
                                                           : 16;
  cpu.vectors.hasFma = info->checkFeatures("+fma");
  cpu.vectors.hasF16C = info->checkFeatures("+f16c");
  return cpu;
}

std::unique_ptr<llvm::TargetMachine> CpuModel::createMachine() const {
  llvm::TargetOptions options;
  // Products and sums are fused where the kernels say so, and nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The CPU's model stands for its features: those of the compiling machine do
  // not leak in.
  return std::unique_ptr<llvm::TargetMachine>(
      lookupTarget(kernelTriple())
          ->createTargetMachine(kernelTriple(), name, "", options,
                                llvm::Reloc::PIC_, std::nullopt,
                                llvm::CodeGenOptLevel::Default));
}

} // namespace shardc::cpu
