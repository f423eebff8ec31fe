// Where a graph goes through its units more than once: of fsdp-shard.
#ifndef SHARDC_PASSES_SHARD_USEREGIONS_H
#define SHARDC_PASSES_SHARD_USEREGIONS_H

#include "passes/fsdp/FSDP.h"

namespace shardc::fsdp {

/// An op computes with parameters of a unit.
struct UnitUse {
  UnitOp unit;
  mlir::Operation *op = nullptr;
  PhaseKind phase = PhaseKind::forward;
};

/// Where a graph goes through its units more than once in a phase, as two
/// forwards of one model do, each time is a region, for which a unit is
/// gathered anew. It is another time that a unit is used if in between two
/// others were that are used elsewhere in the phase, too. A table that is used
/// before and after what is used once has one region, and so has a unit that is
/// not resharded.
class UseRegions {
public:
  /// `uses` are in the order of the ops.
  explicit UseRegions(llvm::ArrayRef<UnitUse> uses);

  /// The number of the region, from 0 on in each phase.
  int of(UnitOp unit, mlir::Operation *op) const {
    return regions.lookup({unit, op});
  }

private:
  /// Those that are not 0.
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, int> regions;
};

} // namespace shardc::fsdp

#endif
