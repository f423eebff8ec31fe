// Compiled kernels of earlier compilations: a folder of files, each named after
// the hash of all that its bytes depend on. Folders may be shared by
// compilations that run at once.
#ifndef SHARDC_CODEGEN_KERNELS_KERNELCACHE_H
#define SHARDC_CODEGEN_KERNELS_KERNELCACHE_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace shardc::kernels {

/// The seam between a target, which makes the bytes, and the folder. One that
/// is made by default keeps nothing and finds nothing.
class KernelCache {
public:
  KernelCache() = default;
  /// Makes the folder where there is none, and removes what was not used for a
  /// week (llvm/Support/CachePruning.h). Fails where it cannot be written to.
  static llvm::Expected<KernelCache> open(llvm::StringRef folder);

  bool isOpen() const { return !folder.empty(); }

  /// The key of what is made of `kernel` for `target`, which says all that a
  /// target's code depends on. It changes with the programs and libraries that
  /// compile. Empty where nothing is to be kept: the cache is not open, or the
  /// kernel's text leaves out values (dense_resource).
  std::string keyOf(mlir::Operation *kernel, llvm::StringRef target) const;
  /// The same of a text.
  std::string keyOf(llvm::StringRef text, llvm::StringRef target) const;

  /// The bytes under a key, as they were stored; none where there are none, or
  /// where they are damaged. May be called on several threads.
  std::optional<std::string> find(const std::string &key) const;
  /// Keeps bytes. Nobody sees half of them: a file gets its name when it is
  /// whole. May be called on several threads.
  llvm::Error store(const std::string &key, llvm::StringRef bytes) const;

private:
  std::string pathOf(const std::string &key) const;

  std::string folder;
};

} // namespace shardc::kernels

#endif
