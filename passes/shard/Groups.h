// Which ranks a strategy's collectives run over.
#ifndef SHARDC_PASSES_SHARD_GROUPS_H
#define SHARDC_PASSES_SHARD_GROUPS_H

#include "passes/fsdp/FSDP.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::fsdp {

/// The groups of ranks that a strategy's collectives run over; null where one
/// would have a single rank.
struct Groups {
  GroupOp parameters; // whose slices make a unit
  GroupOp gradients;  // over which flat gradients are reduced first
  GroupOp across;     // over which their slices are reduced then
  GroupOp updates;    // whose optimizer slices make a parameter slice
  bool scattersGradients = false; // else every rank keeps the whole sum
  bool scattersAcross = false;
  /// One per dimension of the mesh, innermost first, and whether norms are
  /// partial over it.
  llvm::SmallVector<std::pair<GroupOp, bool>> ofDims;
};

/// From the mesh of the module, and its fsdp.group symbols.
Groups groupsOf(mlir::ModuleOp module, MeshOp mesh);

} // namespace shardc::fsdp

#endif
