// Ops in words, as diagnostics and remarks name them.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_DESCRIBE_H
#define SHARDC_FRONTEND_NN_SUPPORT_DESCRIBE_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

#include <string>

namespace shardc {

/// The ONNX node that a location names, of several the first; "" for none.
std::string nodeName(mlir::Location location);

/// "nn.tanh of node 'X'"; "nn.tanh" where no node is known.
std::string described(mlir::Operation *op);
/// What makes the value, or which argument of the function it is.
std::string described(mlir::Value value);

} // namespace shardc

#endif
