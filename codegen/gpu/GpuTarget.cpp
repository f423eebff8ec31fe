// A target's kernels become files, a table and a part of the report.
#include "codegen/gpu/GpuTarget.h"

#include "codegen/gpu/CompileGpuKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace shardc::gpu {
namespace {

class CompiledGpuKernels final : public CompiledKernels {
public:
  CompiledGpuKernels(GpuKernels kernels, bool hasPtxas)
      : kernels(std::move(kernels)), hasPtxas(hasPtxas),
        sectionBytes(serialize()) {}

  plan::Target describe() const override;
  llvm::StringRef section() const override { return sectionBytes; }
  std::string whyIncomplete(const plan::Plan &plan) const override;
  std::vector<std::pair<std::string, llvm::StringRef>> files() const override;
  void print(llvm::raw_ostream &os) const override;
  /// What ptxas says is null where it did not run, as is all but the name and
  /// `refusal` of a kernel that was refused.
  llvm::json::Value toJson() const override;
  std::string warning() const override {
    std::string noPtxas = hasPtxas ? ""
                                   : "no ptxas in $CUDA_HOME, $PATH or "
                                     "/usr/local/cuda: PTX alone";
    return noPtxas + (noPtxas.empty() || kernels.warning.empty() ? "" : "; ") +
           kernels.warning;
  }

private:
  /// A plan::CudaKernels.
  std::string serialize() const;

  GpuKernels kernels;
  bool hasPtxas;
  std::string sectionBytes;
};

plan::Target CompiledGpuKernels::describe() const {
  plan::Target target;
  target.set_name("cuda:" + kernels.gpu);
  plan::CudaTarget *cuda = target.mutable_cuda();
  cuda->set_architecture(kernels.gpu);
  cuda->set_capability(kernels.capability);
  for (const GpuKernel &kernel : kernels.kernels) {
    plan::CudaTarget::Grid *grid = cuda->add_grids();
    grid->set_blocks(kernel.grid);
    grid->set_threads(kernel.block);
  }
  return target;
}

std::string CompiledGpuKernels::serialize() const {
  plan::CudaKernels all;
  for (const GpuKernel &kernel : kernels.kernels) {
    plan::CudaKernels::Kernel *entry = all.add_kernels();
    entry->set_symbol(kernel.symbol);
    entry->set_ptx(kernel.ptx);
    if (!kernel.cubin)
      continue;
    plan::CudaKernels::Cubin *cubin = entry->add_cubins();
    cubin->set_capability(kernels.capability);
    cubin->set_code(kernel.cubin->bytes);
  }
  return all.SerializeAsString();
}

/// "plan entry 'layers.0/topk' of the ONNX nodes a and b"
static std::string nameEntry(const plan::Entry &entry) {
  std::string nodes = llvm::join(entry.nodes(), " and ");
  return "plan entry '" + entry.name() + "'" +
         (nodes.empty() ? ""
                        : (entry.nodes_size() == 1 ? " of the ONNX node "
                                                   : " of the ONNX nodes ") +
                              nodes);
}

std::string CompiledGpuKernels::whyIncomplete(const plan::Plan &plan) const {
  for (auto [index, kernel] : llvm::enumerate(kernels.kernels)) {
    if (kernel.refusal.empty())
      continue;
    std::string user;
    for (const plan::Program *program : {&plan.train(), &plan.eval()})
      for (const plan::Entry &entry : program->entries())
        if (user.empty() && entry.has_launch() &&
            entry.launch().kernel() == index)
          user = " of " + nameEntry(entry);
    return "kernel '" + kernel.symbol + "'" + user +
           " cannot be built for cuda:" + kernels.gpu + ": " + kernel.refusal;
  }
  return "";
}

std::vector<std::pair<std::string, llvm::StringRef>>
CompiledGpuKernels::files() const {
  std::vector<std::pair<std::string, llvm::StringRef>> files;
  for (const GpuKernel &kernel : kernels.kernels) {
    if (!kernel.ptx.empty())
      files.push_back({kernel.symbol + ".ptx", kernel.ptx});
    if (kernel.cubin)
      files.push_back({kernel.symbol + ".cubin", kernel.cubin->bytes});
  }
  return files;
}

void CompiledGpuKernels::print(llvm::raw_ostream &os) const {
  size_t built = 0, assembled = 0;
  for (const GpuKernel &kernel : kernels.kernels) {
    built += !kernel.ptx.empty();
    assembled += kernel.cubin.has_value();
  }
  os << llvm::formatv("{0,-42}{1,-8}{2,10}{3,8}{4,11}{5,13}{6,14}\n",
                      "kernels for cuda:" + kernels.gpu, "kind", "blocks",
                      "threads", "registers", "spill bytes", "shared bytes");
  for (const GpuKernel &kernel : kernels.kernels) {
    if (!kernel.refusal.empty()) {
      os << "  " << kernel.symbol << ": none: " << kernel.refusal << "\n";
      continue;
    }
    os << llvm::formatv("  {0,-40}{1,-8}{2,10}{3,8}", kernel.symbol,
                        kernel.kind, kernel.grid, kernel.block);
    if (kernel.cubin) {
      const ResourceUsage &usage = kernel.cubin->usage;
      os << llvm::formatv("{0,11}{1,13}{2,14}", usage.registers,
                          usage.spillBytes, usage.sharedBytes);
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

llvm::json::Value CompiledGpuKernels::toJson() const {
  llvm::json::Array list;
  for (const GpuKernel &kernel : kernels.kernels) {
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
      const ResourceUsage &usage = kernel.cubin->usage;
      object["registers"] = usage.registers;
      object["spill_bytes"] = usage.spillBytes;
      object["shared_bytes"] = usage.sharedBytes;
    }
    list.push_back(std::move(object));
  }
  return llvm::json::Object{{"target", "cuda:" + kernels.gpu},
                            {"seconds", kernels.seconds},
                            {"kernels", std::move(list)}};
}

/// ptxas takes nearly all of the time and runs on all cores: it is waited for.
class GpuCompilation final : public KernelCompilation {
public:
  GpuCompilation(ModuleOp kernels, const GpuModel &model,
                 const kernels::KernelCache &cache) {
    CudaToolkit toolkit = CudaToolkit::find();
    hasPtxas = !toolkit.ptxas.empty();
    auto compiled = compileGpuKernels(kernels, model, toolkit, cache);
    if (compiled)
      result = std::move(*compiled);
    else
      error = llvm::toString(compiled.takeError());
  }
  llvm::Expected<std::unique_ptr<CompiledKernels>> take() override {
    if (!error.empty())
      return llvm::createStringError(error);
    return std::make_unique<CompiledGpuKernels>(std::move(result), hasPtxas);
  }

private:
  GpuKernels result;
  std::string error;
  bool hasPtxas = false;
};

} // namespace

llvm::Expected<std::unique_ptr<Target>>
GpuTarget::create(StringRef name, const kernels::KernelCache &cache) {
  llvm::Expected<GpuModel> model = GpuModel::resolve(name);
  if (!model)
    return model.takeError();
  return std::unique_ptr<Target>(new GpuTarget(std::move(*model), cache));
}

std::unique_ptr<KernelCompilation> GpuTarget::compile(ModuleOp kernels) const {
  return std::make_unique<GpuCompilation>(kernels, model, cache);
}

} // namespace shardc::gpu
