// LLVM's optimizer, for the code of kernels, which is vectorized already.
#ifndef SHARDC_CODEGEN_KERNELS_OPTIMIZEMODULE_H
#define SHARDC_CODEGEN_KERNELS_OPTIMIZEMODULE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace shardc::kernels {

/// Runs O2 without vectorization; without `unrollsLoops` loops stay as they
/// are.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    bool unrollsLoops);

} // namespace shardc::kernels

#endif
