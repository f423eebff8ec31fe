// The generated kernels of a plan: a shared object that lies in memory, opened
// without touching a file system.
#ifndef SHARDC_RUNTIME_CPU_KERNELLIBRARY_H
#define SHARDC_RUNTIME_CPU_KERNELLIBRARY_H

#include "runtime/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// See plan.proto: base pointers of inputs, then of outputs; [begin, end) of
/// the kernel's extent.
using KernelFunction = void (*)(void *const *arguments, int64_t begin,
                                int64_t end);

class KernelLibrary {
public:
  /// Loads the ELF shared object `image` and looks up every kernel of the plan.
  /// An empty image serves a plan without kernels. The library stays loaded
  /// until the process ends.
  static KernelLibrary open(std::span<const std::byte> image,
                            const plan::Plan &plan);
  /// From functions that are already there, in the order of the plan's kernels.
  static KernelLibrary of(std::vector<KernelFunction> functions);

  KernelFunction function(uint32_t kernel) const { return functions[kernel]; }
  size_t size() const { return functions.size(); }

private:
  std::vector<KernelFunction> functions;
};

} // namespace shardc::runtime

#endif
