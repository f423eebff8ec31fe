// The one place that knows all targets.
#include "codegen/Target.h"

#include "codegen/cpu/CpuTarget.h"
#include "codegen/gpu/GpuTarget.h"
#include "codegen/gpu/InstalledGpu.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc {

llvm::Expected<std::unique_ptr<Target>>
Target::resolve(llvm::StringRef name, const TargetOptions &options) {
  auto [kind, model] = name.split(':');
  if (kind == "cpu")
    return cpu::CpuTarget::create(model.empty() ? llvm::StringRef(options.cpu)
                                                : model,
                                  options.workers, options.cache);
  if (kind == "cuda")
    return gpu::GpuTarget::create(model.empty() ? "sm_90" : model,
                                  options.cache);
  return llvm::createStringError("unknown target '" + name +
                                 "'; expects cpu, cpu:NAME, cuda:sm_80, "
                                 "cuda:sm_90 or cuda:sm_100");
}

llvm::StringRef Target::kindOf(llvm::StringRef name) {
  return name.split(':').first;
}

llvm::Expected<std::vector<std::string>>
Target::parseList(llvm::StringRef list) {
  if (list == "auto") {
    std::vector<std::string> names = {"cpu"};
    if (std::optional<std::string> model = gpu::installedGpu())
      names.push_back("cuda:" + *model);
    return names;
  }
  std::vector<std::string> names;
  for (llvm::StringRef name : llvm::split(list, ',')) {
    for (llvm::StringRef other : names)
      if (kindOf(other) == kindOf(name))
        return llvm::createStringError(
            "the targets '" + other + "' and '" + name +
            "' are of one kind, of which a trainer has one; a GPU also runs "
            "what was compiled for an older one");
    names.push_back(name.str());
  }
  return names;
}

} // namespace shardc
