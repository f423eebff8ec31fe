// How many bytes an element of a tensor takes in memory.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_ELEMENTBYTES_H
#define SHARDC_FRONTEND_NN_SUPPORT_ELEMENTBYTES_H

#include "mlir/IR/Types.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace shardc::nn {

/// Of an integer or a float; a bool takes a byte.
inline int64_t elementBytes(mlir::Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8u);
}

} // namespace shardc::nn

#endif
