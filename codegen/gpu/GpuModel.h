// Kernels are built for one GPU, and assembled by the CUDA toolkit where this
// machine has one.
#ifndef SHARDC_CODEGEN_GPU_GPUMODEL_H
#define SHARDC_CODEGEN_GPU_GPUMODEL_H

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <optional>
#include <string>

namespace shardc::gpu {

struct GpuModel {
  std::string name;     // sm_90
  std::string features; // the version of PTX, as LLVM names it
  int capability;       // 90: PTX runs on compute capability 9.0 and newer

  /// Takes sm_80, sm_90 and sm_100, and fails on any other name.
  static llvm::Expected<GpuModel> resolve(llvm::StringRef name);
  std::unique_ptr<llvm::TargetMachine> createMachine() const;
};

/// CudaToolkit says what of CUDA's toolkit is on this machine.
struct CudaToolkit {
  std::string ptxas; // a path, empty where it was not found

  /// Looks into $CUDA_HOME, then beside the ptxas of $PATH, then into
  /// /usr/local/cuda. A $CUDA_HOME that is set to nothing says that there is
  /// none: drivers assemble PTX as well.
  static CudaToolkit find();
  /// Path, bytes and time of the ptxas: another one makes other code.
  std::string identity() const;
};

/// ptxas says which resources a kernel uses.
struct ResourceUsage {
  int64_t registers = 0;   // of a thread
  int64_t stackBytes = 0;  // of a thread
  int64_t spillBytes = 0;  // stored and loaded, by a thread
  int64_t sharedBytes = 0; // of a block, static
};

struct Cubin {
  std::string bytes;
  ResourceUsage usage;
};

/// Assembles one kernel for `gpu`. Fails with what ptxas printed.
llvm::Expected<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef ptxas,
                               const GpuModel &gpu);

/// Reads `ptxas -v`'s messages on one kernel. Returns nothing if they are not
/// there.
std::optional<ResourceUsage> parsePtxas(llvm::StringRef messages);

} // namespace shardc::gpu

#endif
