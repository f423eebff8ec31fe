// A GPU's name becomes LLVM's target machine.
#include "codegen/gpu/GpuModel.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

namespace shardc::gpu {

static llvm::Triple triple() { return llvm::Triple("nvptx64-nvidia-cuda"); }

static const llvm::Target *lookupTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(triple(), error);
}

llvm::Expected<GpuModel> GpuModel::resolve(llvm::StringRef name) {
  // CUDA 13 assembles these of the server GPUs.
  for (auto [known, ptx, capability] : {std::tuple("sm_80", "+ptx80", 80),
                                        {"sm_90", "+ptx80", 90},
                                        {"sm_100", "+ptx86", 100}})
    if (name == known) {
      if (!lookupTarget())
        return llvm::createStringError(
            "this build of LLVM cannot generate PTX");
      return GpuModel{known, ptx, capability};
    }
  return llvm::createStringError("unknown GPU '" + name +
                                 "'; expects sm_80, sm_90 or sm_100");
}

std::unique_ptr<llvm::TargetMachine> GpuModel::createMachine() const {
  llvm::TargetOptions options;
  // Products and sums are fused where the kernels say so, and nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      lookupTarget()->createTargetMachine(triple(), name, features, options,
                                          std::nullopt, std::nullopt,
                                          llvm::CodeGenOptLevel::Aggressive));
}

CudaToolkit CudaToolkit::find() {
  llvm::SmallVector<std::string> roots;
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME")) {
    if (home->empty())
      return {};
    roots.push_back(*home);
  }
  if (auto program = llvm::sys::findProgramByName("ptxas")) {
    llvm::SmallString<128> path;
    if (!llvm::sys::fs::real_path(*program, path))
      roots.push_back(
          llvm::sys::path::parent_path(llvm::sys::path::parent_path(path))
              .str());
  }
  roots.push_back("/usr/local/cuda");
  CudaToolkit toolkit;
  for (const std::string &root : roots) {
    auto take = [&](std::string &into, llvm::StringRef path) {
      if (std::string full = root + path.str();
          into.empty() && llvm::sys::fs::exists(full))
        into = full;
    };
    take(toolkit.ptxas, "/bin/ptxas");
  }
  return toolkit;
}

std::string CudaToolkit::identity() const {
  llvm::sys::fs::file_status status;
  if (ptxas.empty() || llvm::sys::fs::status(ptxas, status))
    return "";
  return llvm::formatv(
      "{0} {1} {2}", ptxas, status.getSize(),
      status.getLastModificationTime().time_since_epoch().count());
}

} // namespace shardc::gpu
