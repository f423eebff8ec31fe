// Decides which inputs of the kernels of a module their outputs may be written
// over.
#ifndef SHARDC_CODEGEN_KERNELS_INPLACERULES_H
#define SHARDC_CODEGEN_KERNELS_INPLACERULES_H

#include "codegen/kernels/LoopNest.h"

#include <map>

namespace shardc::kernels {

/// Answers mayLieInPlace for calls of kernels. The loop nest of a kernel is
/// found, and each pair of an input and an output judged, once: every block of
/// a model launches the same few kernels.
class InPlaceRules {
public:
  /// Whether output `output` of the kernel that `kernel` names, seen from
  /// `caller`, may be written where input `input` lies; no for what is no
  /// kernel with a body. All callers are of one module.
  bool allows(mlir::Operation *caller, mlir::SymbolRefAttr kernel,
              unsigned input, unsigned output);

private:
  struct Kernel {
    mlir::func::FuncOp function;
    std::optional<LoopNest> nest;
    std::map<std::pair<unsigned, unsigned>, bool> allowed; // input, output
  };
  llvm::DenseMap<mlir::Attribute, Kernel> kernels;
};

} // namespace shardc::kernels

#endif
