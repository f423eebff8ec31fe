// Files and tables of GPU kernels.
#include "tools/shardc/GpuKernels.h"

#include "tools/shardc/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace shardc;

llvm::Error shardc::writeGpuKernels(const gpu::GpuKernels &kernels,
                                    const std::string &folder) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(
        code, "%s: %s; --gpu-kernels needs a folder that can be written",
        folder.c_str(), code.message().c_str());
  for (const gpu::GpuKernel &kernel : kernels.kernels) {
    std::string path = folder + "/" + kernel.symbol;
    if (!kernel.ptx.empty())
      if (llvm::Error error = writeFile(path + ".ptx", kernel.ptx))
        return error;
    if (kernel.cubin)
      if (llvm::Error error = writeFile(path + ".cubin", kernel.cubin->bytes))
        return error;
  }
  return llvm::Error::success();
}

void shardc::printGpuKernels(llvm::raw_ostream &os,
                             const gpu::GpuKernels &kernels) {
  size_t built = 0, assembled = 0;
  for (const gpu::GpuKernel &kernel : kernels.kernels) {
    built += !kernel.ptx.empty();
    assembled += kernel.cubin.has_value();
  }
  os << llvm::formatv("{0,-42}{1,-8}{2,10}{3,8}{4,11}{5,13}{6,14}\n",
                      "kernels for " + kernels.gpu, "kind", "blocks", "threads",
                      "registers", "spill bytes", "shared bytes");
  for (const gpu::GpuKernel &kernel : kernels.kernels) {
    if (!kernel.refusal.empty()) {
      os << "  " << kernel.symbol << ": none: " << kernel.refusal << "\n";
      continue;
    }
    os << llvm::formatv("  {0,-40}{1,-8}{2,10}{3,8}", kernel.symbol,
                        kernel.kind, kernel.grid, kernel.block);
    if (kernel.cubin) {
      const gpu::PtxasReport &report = kernel.cubin->report;
      os << llvm::formatv("{0,11}{1,13}{2,14}", report.registers,
                          report.spillBytes, report.sharedBytes);
    }
    os << "\n";
  }
  os << built << " of " << kernels.kernels.size() << " kernels in PTX, "
     << assembled << " assembled"
     << (built && !assembled ? " (no ptxas in $CUDA_HOME, $PATH or "
                               "/usr/local/cuda)"
                             : "")
     << llvm::formatv(", in {0:f1} s\n", kernels.seconds);
}

llvm::json::Value shardc::toJson(const gpu::GpuKernels &kernels) {
  llvm::json::Array list;
  for (const gpu::GpuKernel &kernel : kernels.kernels) {
    llvm::json::Object object{
        {"name", kernel.symbol},   {"kind", nullptr},
        {"blocks", nullptr},       {"threads", nullptr},
        {"registers", nullptr},    {"spill_bytes", nullptr},
        {"shared_bytes", nullptr}, {"refusal", nullptr}};
    if (!kernel.refusal.empty()) {
      object["refusal"] = kernel.refusal;
    } else {
      object["kind"] = kernel.kind;
      object["blocks"] = kernel.grid;
      object["threads"] = kernel.block;
    }
    if (kernel.cubin) {
      const gpu::PtxasReport &report = kernel.cubin->report;
      object["registers"] = report.registers;
      object["spill_bytes"] = report.spillBytes;
      object["shared_bytes"] = report.sharedBytes;
    }
    list.push_back(std::move(object));
  }
  return llvm::json::Object{{"gpu", kernels.gpu},
                            {"seconds", kernels.seconds},
                            {"kernels", std::move(list)}};
}
