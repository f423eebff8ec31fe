// --checkable: the same model's step for one rank that holds everything, beside
// that of the mesh.
#ifndef SHARDC_TOOLS_SHARDC_UNSHARDEDSTEP_H
#define SHARDC_TOOLS_SHARDC_UNSHARDEDSTEP_H

#include "tools/shardc/TargetProgram.h"

#include <memory>

namespace shardc {

class UnshardedStep {
public:
  /// Compiles `module`, as imported, for the target of `sharded`, which is
  /// emitted. What there is to warn of, that one has said. The error is one
  /// line.
  static llvm::Expected<std::unique_ptr<UnshardedStep>>
  make(const Compilation &common, const TargetProgram &sharded,
       mlir::ModuleOp module, EmitOptions emit);

  TargetProgram &program() { return compiled; }

private:
  UnshardedStep(const Compilation &common, const TargetProgram &sharded);

  Options options;
  Compilation own;
  TargetProgram compiled;
};

} // namespace shardc

#endif
