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

/// A kernel as plan.proto describes it: `arguments` are base pointers of
/// inputs, then of outputs; [begin, end) is a range of the kernel's extent, in
/// work items.
using KernelFunction = void (*)(void *const *arguments, int64_t begin,
                                int64_t end);

class KernelLibrary {
public:
  /// Loads the ELF shared object `image` and looks up every kernel of the plan.
  /// An empty image serves a plan without kernels. The library stays loaded
  /// until the process ends.
  static KernelLibrary open(std::span<const std::byte> image,
                            const plan::Plan &plan);
  /// Makes a library of functions that are already there, in the order of the
  /// plan's kernels.
  static KernelLibrary of(std::vector<KernelFunction> functions);

  KernelFunction function(uint32_t kernel) const { return functions[kernel]; }
  size_t size() const { return functions.size(); }

private:
  std::vector<KernelFunction> functions;
};

} // namespace shardc::runtime

#endif
