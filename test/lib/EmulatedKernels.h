// GPU kernels run on the host, thread by thread: what they compute can be
// tested where there is no GPU. Not fast.
#ifndef SHARDC_TEST_LIB_EMULATEDKERNELS_H
#define SHARDC_TEST_LIB_EMULATEDKERNELS_H

#include "codegen/gpu/CompileGpuKernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace shardc::test {

/// Every thread of a block is a fiber that runs up to the next barrier or
/// shuffle; then the next thread does.
class EmulatedKernels {
public:
  /// Compiles every gpu.func of `module`, which stays as it is: from where it
  /// is not lowered to NVVM yet, with libmvec's functions instead of
  /// Functions.cu's.
  static llvm::Expected<EmulatedKernels> compile(mlir::gpu::GPUModuleOp module,
                                                 llvm::StringRef cpu);
  /// Takes the PTX of all `kernels`, as a GPU would get it. Fails where one of
  /// them was refused.
  static llvm::Expected<EmulatedKernels>
  fromPtx(const gpu::GpuKernels &kernels);
  EmulatedKernels(EmulatedKernels &&);
  ~EmulatedKernels();

  /// Blocks of a kernel's grid; 0 where there is no such kernel.
  int64_t grid(llvm::StringRef kernel) const;
  /// Runs one block; `backwards`, its threads in falling order. Fails where
  /// threads do not meet at the same barrier or shuffle, and where PTX loads or
  /// stores at an address that is no multiple of what it takes.
  llvm::Error runBlock(llvm::StringRef kernel, void *const *arguments,
                       int64_t block, bool backwards) const;

private:
  struct Impl;
  explicit EmulatedKernels(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace shardc::test

#endif
