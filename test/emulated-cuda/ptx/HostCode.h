// PTX as code of this machine, in memory.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_HOSTCODE_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_HOSTCODE_H

#include "Ptx.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <string>

namespace llvm::orc {
class JITTargetMachineBuilder;
class LLJIT;
} // namespace llvm::orc

namespace shardc::test::ptx {

/// How this machine's code is made. `isKept`: it will run again and again; else
/// it is compiled for longer than it runs, and instructions are chosen in haste.
llvm::Expected<llvm::orc::JITTargetMachineBuilder> hostMachine(bool isKept);

/// Translates and optimizes a module into an object file.
llvm::Expected<std::string> compile(llvm::StringRef ptx, bool checked,
                                    bool isKept);

class HostCode {
public:
  /// Translates and optimizes kernels, whose names differ; not checked.
  static llvm::Expected<HostCode> compile(llvm::ArrayRef<Module> modules);
  HostCode(HostCode &&) noexcept;
  ~HostCode();

  /// The function of a kernel, see translate(); it lives as long as this.
  llvm::Expected<void *> find(llvm::StringRef kernel) const;

private:
  explicit HostCode(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace shardc::test::ptx

#endif
