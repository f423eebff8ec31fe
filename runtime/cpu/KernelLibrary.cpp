// Looks up the kernels of a plan in their library.
#include "runtime/cpu/KernelLibrary.h"
#include "runtime/base/Error.h"
#include "runtime/base/MemoryLibrary.h"

#include <dlfcn.h>

namespace shardc::runtime {

KernelLibrary KernelLibrary::open(std::span<const std::byte> image,
                                  const plan::Plan &plan) {
  KernelLibrary library;
  if (plan.kernels().empty())
    return library;
  void *handle = loadFromMemory(image, "shardc-kernels", "the plan's kernels");
  for (const plan::Kernel &kernel : plan.kernels()) {
    void *symbol = dlsym(handle, kernel.symbol().c_str());
    if (!symbol)
      fail("the kernel library lacks the plan's kernel ", kernel.symbol());
    library.functions.push_back(reinterpret_cast<KernelFunction>(symbol));
  }
  return library;
}

KernelLibrary KernelLibrary::of(std::vector<KernelFunction> functions) {
  KernelLibrary library;
  library.functions = std::move(functions);
  return library;
}

} // namespace shardc::runtime
