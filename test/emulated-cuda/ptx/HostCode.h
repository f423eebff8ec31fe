// PTX as code of this machine, in memory.
#ifndef SHARDC_TEST_EMULATEDCUDA_PTX_HOSTCODE_H
#define SHARDC_TEST_EMULATEDCUDA_PTX_HOSTCODE_H

#include "Ptx.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace shardc::test::ptx {

class HostCode {
public:
  /// Translates and optimizes kernels, whose names differ.
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
