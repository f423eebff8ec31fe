// How many bytes a tensor takes in memory.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_ELEMENTBYTES_H
#define SHARDC_FRONTEND_NN_SUPPORT_ELEMENTBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace shardc::nn {

/// Of an integer or a float; a bool takes a byte.
inline int64_t elementBytes(mlir::Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8u);
}

/// Of a ranked tensor of a known shape, or a memref without a layout.
inline int64_t bytesOf(mlir::Type shaped) {
  auto type = mlir::cast<mlir::ShapedType>(shaped);
  return type.getNumElements() * elementBytes(type.getElementType());
}

} // namespace shardc::nn

#endif
