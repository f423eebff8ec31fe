// The float type of a tensor's elements, asked for and changed.
#ifndef SHARDC_PASSES_ANALYSES_FLOATELEMENTS_H
#define SHARDC_PASSES_ANALYSES_FLOATELEMENTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace shardc {

/// Null where the value is no tensor of floats.
inline mlir::FloatType floatElement(mlir::Value value) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? mlir::dyn_cast<mlir::FloatType>(type.getElementType())
              : mlir::FloatType();
}

inline void setElement(mlir::Value value, mlir::FloatType type) {
  value.setType(
      mlir::cast<mlir::RankedTensorType>(value.getType()).clone(type));
}

} // namespace shardc

#endif
