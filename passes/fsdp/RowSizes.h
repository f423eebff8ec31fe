// How much travels where rows of a unit's table do.
#ifndef SHARDC_PASSES_FSDP_ROWSIZES_H
#define SHARDC_PASSES_FSDP_ROWSIZES_H

#include "frontend/nn/support/ElementBytes.h"
#include "passes/fsdp/FSDP.h"
#include "runtime/device/RowExchange.h"

namespace shardc::fsdp {

/// Of a unit that is one table with rows of `width`: so many positions on each
/// rank, of ids of one type, with rows or gradients of another.
inline RowExchange rowExchange(UnitOp unit, int64_t width, int64_t positions,
                               mlir::Type idType, mlir::Type elementType) {
  RowExchange sizes;
  sizes.ranks = static_cast<int64_t>(unit.getShards());
  sizes.width = width;
  sizes.sliceRows =
      static_cast<int64_t>(unit.getElements()) / (sizes.ranks * width);
  sizes.positions = positions;
  sizes.idBytes = nn::elementBytes(idType);
  sizes.elementBytes = nn::elementBytes(elementType);
  sizes.sumBytes = nn::elementBytes(unit.getGradientType());
  return sizes;
}

} // namespace shardc::fsdp

#endif
