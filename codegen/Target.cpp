// The one place that knows all targets.
#include "codegen/Target.h"

#include "codegen/cpu/CpuTarget.h"
#include "codegen/gpu/GpuTarget.h"

namespace shardc {

llvm::Expected<std::unique_ptr<Target>>
Target::resolve(llvm::StringRef name, const TargetOptions &options) {
  auto [kind, model] = name.split(':');
  if (kind == "cpu")
    return cpu::CpuTarget::create(
        model.empty() ? llvm::StringRef(options.cpu) : model, options.workers);
  if (kind == "cuda")
    return gpu::GpuTarget::create(model.empty() ? "sm_90" : model);
  return llvm::createStringError("unknown target '" + name +
                                 "'; expects cpu, cpu:NAME, cuda:sm_80, "
                                 "cuda:sm_90 or cuda:sm_100");
}

} // namespace shardc
