// The symbols that the fsdp ops of a step name.
#ifndef SHARDC_PASSES_VERIFY_FSDPSYMBOLS_H
#define SHARDC_PASSES_VERIFY_FSDPSYMBOLS_H

#include "frontend/nn/NN.h"
#include "passes/fsdp/FSDP.h"

namespace shardc {

struct FSDPSymbols {
  fsdp::MeshOp mesh;
  /// In the module's order.
  llvm::SmallVector<fsdp::UnitOp> units;
  llvm::DenseMap<mlir::StringAttr, fsdp::UnitOp> unitNamed;
  llvm::DenseMap<mlir::StringAttr, fsdp::UnitOp> unitOf; ///< of a parameter
  llvm::DenseMap<mlir::StringAttr, fsdp::GroupOp> groups;

  fsdp::GroupOp group(mlir::FlatSymbolRefAttr name) const {
    return groups.lookup(name.getAttr());
  }
};

} // namespace shardc

#endif
