// The driver of CPU kernel compilation: functions in parallel to objects,
// objects to one shared object.
#include "codegen/cpu/CompileKernels.h"

namespace shardc::cpu {

llvm::Expected<CompiledKernels> compileKernels(mlir::ModuleOp kernels,
                                               const CpuOptions &options) {
  return llvm::createStringError("compiling kernels is not built yet");
}

} // namespace shardc::cpu
