// Kernels for the CPU are compiled while the plan is made.
#include "codegen/cpu/CpuTarget.h"

#include "codegen/cpu/CompileCpuKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <future>

using namespace mlir;

namespace shardc::cpu {
namespace {

class CpuKernels final : public shardc::CompiledKernels {
public:
  CpuKernels(CompiledObject object, int64_t workers)
      : object(std::move(object)), workers(workers) {}

  plan::Target describe() const override {
    plan::Target target;
    target.set_name("cpu:" + object.cpu);
    plan::CpuTarget *cpu = target.mutable_cpu();
    cpu->set_processor(object.cpu);
    cpu->set_workers(workers);
    for (const KernelInfo &kernel : object.kernels)
      cpu->add_extents(kernel.extent);
    return target;
  }
  llvm::StringRef section() const override { return object.sharedObject; }
  std::vector<std::pair<std::string, llvm::StringRef>> files() const override {
    return {{"kernels.so", object.sharedObject}};
  }
  void print(llvm::raw_ostream &) const override {}
  llvm::json::Value toJson() const override {
    llvm::json::Array list;
    for (const KernelInfo &kernel : object.kernels)
      list.push_back(llvm::json::Object{{"name", kernel.symbol},
                                        {"extent", kernel.extent}});
    return llvm::json::Object{{"target", "cpu:" + object.cpu},
                              {"seconds", object.seconds},
                              {"kernels", std::move(list)}};
  }
  std::string warning() const override { return object.warning; }

private:
  CompiledObject object;
  int64_t workers;
};

/// Runs compileCpuKernels on threads of its own: kernels do not depend on what
/// becomes of the rest.
class CpuCompilation final : public KernelCompilation {
public:
  CpuCompilation(ModuleOp original, CpuOptions options, int64_t workers)
      : kernels(cast<ModuleOp>(original->clone())), workers(workers) {
    // Dialects are loaded here: they must not be while several threads use a
    // context.
    loadDialects(original.getContext());
    result = std::async(original.getContext()->isMultithreadingEnabled()
                            ? std::launch::async
                            : std::launch::deferred,
                        [this, options = std::move(options)] {
                          return compileInPlace(*kernels, options);
                        });
  }
  ~CpuCompilation() override {
    bool isRunning =
        result.valid() && result.wait_for(std::chrono::seconds(0)) !=
                              std::future_status::deferred;
    if (isRunning)
      if (auto unused = result.get(); !unused)
        llvm::consumeError(unused.takeError());
  }
  llvm::Expected<std::unique_ptr<shardc::CompiledKernels>> take() override {
    llvm::Expected<CompiledObject> object = result.get();
    if (!object)
      return object.takeError();
    return std::make_unique<CpuKernels>(std::move(*object), workers);
  }

private:
  OwningOpRef<ModuleOp> kernels;
  int64_t workers;
  std::future<llvm::Expected<CompiledObject>> result; // ends before the copy
};

} // namespace

llvm::Expected<std::unique_ptr<Target>>
CpuTarget::create(StringRef name, int64_t workers,
                  const kernels::KernelCache &cache) {
  llvm::Expected<CpuModel> model = CpuModel::resolve(name);
  if (!model)
    return model.takeError();
  return std::unique_ptr<Target>(
      new CpuTarget(std::move(*model), workers, cache));
}

std::unique_ptr<KernelCompilation> CpuTarget::compile(ModuleOp kernels) const {
  return std::make_unique<CpuCompilation>(
      kernels, CpuOptions{model.name, cache}, workers);
}

} // namespace shardc::cpu
