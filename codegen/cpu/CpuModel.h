// The CPU that kernels are built for: its LLVM name and features, the width of
// its vectors, its target machine.
#ifndef SHARDC_CODEGEN_CPU_CPUMODEL_H
#define SHARDC_CODEGEN_CPU_CPUMODEL_H

#include "codegen/cpu/EmitCpuKernel.h"

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace shardc::cpu {

struct CpuModel {
  std::string name;
  VectorTarget vectors;

  /// "native" is this machine's. Fails on a name that LLVM does not know.
  static llvm::Expected<CpuModel> resolve(llvm::StringRef name);
  std::unique_ptr<llvm::TargetMachine> createMachine() const;
};

} // namespace shardc::cpu

#endif
